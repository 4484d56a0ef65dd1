"""Fuzzes with atheris, in the environment of ``make fuzz``: ``python -m tests.fuzz.run SECONDS TARGET…``; two targets at a time."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.seeds import WORDS, seeds

FOUND = Path("results/fuzz")
MAX_BYTES = 8192
SLACK_S = 120
AT_ONCE = 2
CHILD = "--this-process"


def fuzz(target: str, seconds: int, folder: Path) -> None:
    """Fuzz in this process, which ends with a status other than 0 when something is found; the input is kept. Never returns."""
    import atheris

    with atheris.instrument_imports(include=["dragoman"]):
        from tests.fuzz.targets import TARGETS

    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir()
    for number, seed in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(seed[:MAX_BYTES])
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in WORDS[target]))
    options = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", f"-dict={words}", f"-artifact_prefix={FOUND}/{target}-"]
    options += ["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[target])
    atheris.Fuzz()


def run(target: str, seconds: int) -> bool:
    """Fuzz in a process of its own, and say how it went; whether nothing was found."""
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{target}-") as folder:
        command = [sys.executable, "-m", "tests.fuzz.run", CHILD, str(seconds), target, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + SLACK_S, check=False, errors="replace")
    output = done.stdout + done.stderr
    executed = re.search(r"number_of_executed_units: *(\d+)", output)
    if done.returncode == 0 and executed is not None:
        print(f"fuzz {target}: {int(executed[1]):,} inputs in {seconds} s, nothing found", flush=True)
        return True
    log = FOUND / f"{target}.log"
    log.write_text(output)
    print(f"fuzz {target}: status {done.returncode}, see {log}\n{_end_of(output)}", flush=True)
    return False


def main(words: list[str]) -> int:
    """Run every target that was named; 1 where something was found."""
    if len(words) < 2 or not words[0].isdecimal() or not set(words[1:]) <= set(WORDS):
        print(f"usage: python -m tests.fuzz.run SECONDS {'|'.join(WORDS)} ...", file=sys.stderr)
        return 2
    FOUND.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return 0 if all(list(pool.map(lambda target: run(target, int(words[0])), words[1:]))) else 1


def _end_of(output: str) -> str:
    kept = [line for line in output.splitlines() if not line.startswith(("stat::", '"', "INFO", "WARNING", "#"))]
    return "\n".join(kept[-25:])


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        fuzz(sys.argv[3], int(sys.argv[2]), Path(sys.argv[4]))
    else:
        sys.exit(main(sys.argv[1:]))

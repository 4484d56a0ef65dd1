"""``dragoman call`` as a person or a script runs it, against real servers."""

from __future__ import annotations

import base64
import json
import stat
import sys
from pathlib import Path

import pytest

from .calling import alive_in, configured, endings, nobody_left_in, on, piped, records
from .program import LEGACY, MODERN, run

ON_LEGACY = ("--on", " ".join(LEGACY))


@pytest.mark.parametrize("target", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_ad_hoc_call_prints_the_result_alone(target: list[str], tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: stdout has the result only, text as it is and one newline; the call is audited; nothing is left running."""
    done = run("call", "--on", " ".join(target), "echo", "text=  two\nlines  ", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "  two\nlines  \n", "")
    assert endings(dragoman_home) == [("echo", "ok")]
    assert nobody_left_in(tmp_path)


def test_the_schema_decides_the_type(tmp_path: Path) -> None:
    """Our contract: a text that looks like a number stays text where the schema says string; integers are integers."""
    assert run("call", *ON_LEGACY, "echo", "text=007", cwd=tmp_path).out == "007\n"
    assert run("call", *ON_LEGACY, "count", "to=3", cwd=tmp_path).out == "1 2 3\n"
    assert run("call", *ON_LEGACY, "delete_notes", 'ids=["n1"]', cwd=tmp_path).out == "deleted: buy rope\n"


def test_arguments_come_from_files_and_stdin(tmp_path: Path) -> None:
    """Our contract: ``k=@FILE``, ``@@``, ``--args -``; words win over the object."""
    (tmp_path / "poem.txt").write_text("a line\nörüg\n")
    assert run("call", *ON_LEGACY, "echo", "text=@poem.txt", cwd=tmp_path).out == "a line\nörüg\n\n"
    assert run("call", *ON_LEGACY, "echo", "text=@@home", cwd=tmp_path).out == "@home\n"
    assert piped("call", *ON_LEGACY, "echo", "--args", "-", stdin=b'{"text": "from stdin"}', cwd=tmp_path).out == "from stdin\n"
    assert piped("call", *ON_LEGACY, "echo", "text=@-", stdin=b"all of it", cwd=tmp_path).out == "all of it\n"
    assert run("call", *ON_LEGACY, "echo", "text=b", "--args", '{"text": "a"}', cwd=tmp_path).out == "b\n"


def test_images_are_saved_under_names_of_our_own(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: a line with type, size and path stands for the block; the file is private."""
    done = run("call", *ON_LEGACY, "picture", cwd=tmp_path)
    first, second = done.out.splitlines()
    assert first == "One red dot."
    path = Path(second.removeprefix("[image/png, 69 bytes: ").removesuffix("]"))
    (record, *_) = records(dragoman_home)
    assert path == dragoman_home / "files" / record.call / "1.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_output_dir_never_overwrites(tmp_path: Path) -> None:
    """Our choice."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "1.png").write_text("mine")
    done = run("call", *ON_LEGACY, "picture", "--output-dir", "out", cwd=tmp_path)
    assert f"{tmp_path}/out/2.png" in done.out
    assert (tmp_path / "out" / "1.png").read_text() == "mine"


def test_json_is_one_object(tmp_path: Path) -> None:
    """Our contract."""
    done = run("call", *ON_LEGACY, "picture", "--json", cwd=tmp_path)
    report = done.json
    wanted = [
        "ok",
        "server",
        "tool",
        "tier",
        "text",
        "structured",
        "content",
        "is_error",
        "labels",
        "findings",
        "notes",
        "files",
        "call_id",
    ]
    assert list(report)[: len(wanted)] == wanted
    assert (report["ok"], report["tool"], report["tier"], report["is_error"]) == (True, "picture", None, False)
    (file,) = report["files"]
    assert report["content"][1] == {"type": "image", "mimeType": "image/png", "path": file["path"], "size": 69}
    assert base64.b64encode(Path(file["path"]).read_bytes())


def test_structured_content_stands_in_for_missing_text(tmp_path: Path) -> None:
    """Our contract: shown as JSON if there is no text; beside text the text is enough."""
    server = tmp_path / "structured.py"
    source = "from _base import *\ndef on(m):\n  if is_call(m):\n    answer(m, {'content': [], 'structuredContent': {'a': [1, 'ü']}})\n"
    source += "    return True\nserve(on)\n"
    server.write_text(f"import sys\nsys.path.insert(0, {str(Path(__file__).parent.parent / 'servers')!r})\n{source}")
    done = run("call", "--on", f"{sys.executable} {server}", "echo", "text=x", cwd=tmp_path)
    assert json.loads(done.out) == {"a": [1, "ü"]}
    assert run("call", *ON_LEGACY, "weather", cwd=tmp_path).out.count("knots") == 1


def test_tool_error_is_a_result_and_exit_1(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: ``isError`` is an outcome."""
    done = run("call", *ON_LEGACY, "delete_notes", 'ids=["n99"]', cwd=tmp_path)
    assert (done.code, done.out) == (1, "nothing deleted; no such note: n99\n")
    assert "error: the tool delete_notes reports an error" in done.err
    assert endings(dragoman_home) == [("delete_notes", "tool error")]


def test_hostile_text_is_shown_escaped_everywhere(tmp_path: Path) -> None:
    """Our contract: escaping holds with and without a terminal, on stderr and in JSON; only ``--raw`` opts out."""
    words = ("call", "--on", on("hostile_text"), "echo")
    plain, as_json, failed = run(*words, cwd=tmp_path), run(*words, "--json", cwd=tmp_path), run(*words, "text=error", cwd=tmp_path)
    for done in (plain, as_json, failed, run("probe", "--", *words[2].split(), cwd=tmp_path), run("tools", *words[1:3], cwd=tmp_path)):
        for char in ("\x1b", "\x07", "\x9b", "\u202e", "\U000e0041"):
            assert char not in done.out + done.err
    assert "\\x1b[2J" in plain.out
    assert "warning: the result has a terminal escape sequence" in plain.err
    assert "\x1b[2J" in as_json.json["text"]
    assert failed.code == 1
    assert "\x1b[2J" in run(*words, "--raw", cwd=tmp_path).out


def test_governed_call_follows_the_tiers(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: L0 runs; with no terminal and no ``--yes``, L2 is denied with exit 3 and nothing is sent; ``--yes`` is recorded so."""
    config = str(configured(tmp_path, LEGACY, {"echo": "L0"}))
    assert run("call", "h.echo", "text=a", "--config", config, cwd=tmp_path).out == "a\n"
    denied = run("--config", config, "call", "h.delete_notes", 'ids=["n1"]', cwd=tmp_path)
    assert (denied.code, denied.out) == (3, "")
    assert "error: h.delete_notes was not approved: there is no terminal to ask on\nhint: " in denied.err
    agreed = run("--config", config, "call", "h.delete_notes", 'ids=["n1"]', "--yes", cwd=tmp_path)
    assert (agreed.code, agreed.out) == (0, "deleted: buy rope\n")
    assert endings(dragoman_home) == [("echo", "ok"), ("delete_notes", "denied"), ("delete_notes", "ok")]
    sent = [record for record in records(dragoman_home) if record.event == "sending"]
    assert [record.tool for record in sent] == ["echo", "delete_notes"]
    assert sent[1].detail["how"] == "--yes"
    assert "(from " in sent[1].detail["by"]


def test_yes_counts_only_where_the_policy_lets_it(tmp_path: Path) -> None:
    """Our contract: ``[policy] allow_yes = false``; never L3."""
    config = str(configured(tmp_path, LEGACY, {"sink_ship": "L3"}, policy="[policy]\nallow_yes = false"))
    done = run("call", "--config", config, "--yes", "h.delete_notes", 'ids=["n1"]', cwd=tmp_path)
    assert done.code == 3
    assert "warning: --yes does not count here: policy.allow_yes is false" in done.err
    off = run("call", "--config", config, "--yes", "h.sink_ship", cwd=tmp_path)
    assert (off.code, "irreversible (L3) and switched off" in off.err) == (3, True)


def test_only_the_server_that_is_needed_starts(tmp_path: Path) -> None:
    """Our contract: a broken neighbour does not matter, and is not even started."""
    config = configured(tmp_path, LEGACY, {"echo": "L0"})
    config.write_text(config.read_text() + f'[servers.other]\ncommand = ["sh", "-c", "touch {tmp_path}/started"]\n')
    assert run("call", "--config", str(config), "h.echo", "text=a", cwd=tmp_path).code == 0
    assert not (tmp_path / "started").exists()


def test_server_of_a_project_file_is_held_back(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: exit 3 and the command to run on a terminal; the server is not started."""
    configured(tmp_path, ["sh", "-c", f"touch {tmp_path}/started"]).rename(tmp_path / "dragoman.toml")
    done = run("call", "h.echo", "text=a", cwd=tmp_path)
    assert done.code == 3
    assert "hint: on a terminal: dragoman enable h" in done.err
    assert not (tmp_path / "started").exists()
    assert endings(dragoman_home) == [("h.echo", "refused")]


def test_a_broken_project_file_does_not_matter_to_ad_hoc_calls(tmp_path: Path) -> None:
    """Our contract: ``call --on`` and ``probe`` work without any configuration."""
    (tmp_path / "dragoman.toml").write_text("[servers.x\n")
    assert run("call", *ON_LEGACY, "echo", "text=a", cwd=tmp_path).code == 0
    assert run("probe", "--", *LEGACY, cwd=tmp_path).code == 0


def test_turn_and_principal_are_written_down(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: each command is a turn, ``--turn ID`` joins one."""
    run("call", *ON_LEGACY, "--turn", "t-1", "--principal", "ada", "echo", "text=a", cwd=tmp_path)
    assert {(record.turn, record.principal) for record in records(dragoman_home)} == {("t-1", "ada")}


def test_trace_goes_to_stderr_and_whole_to_a_private_file_without_secrets(tmp_path: Path) -> None:
    """Our contract: arrows, time, size, a cut at 200 on screen; readable text of any script; secrets redacted in both."""
    words = "长城" * 150
    trace = ("--trace", "--trace-file", "wire.jsonl", "--env", "SHOP_TOKEN=s3cr3t-of-ours")
    done = run("call", *ON_LEGACY, *trace, "echo", f"text=s3cr3t-of-ours {words}", cwd=tmp_path)
    assert done.code == 0
    assert "Exception ignored" not in done.err  # an unclosed file
    assert "→ " in done.err
    assert "← " in done.err
    assert "长城" in done.err
    assert words not in done.err
    text = (tmp_path / "wire.jsonl").read_text()
    assert words in text
    assert stat.S_IMODE((tmp_path / "wire.jsonl").stat().st_mode) == 0o600
    assert {json.loads(line)["dir"] for line in text.splitlines()} == {"in", "out"}
    assert "s3cr3t-of-ours" not in done.err + text


def test_verbose_tells_what_happens_and_shows_the_servers_stderr(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: the logger at INFO; the stderr of an ad hoc server is in a log file, and shown only with ``-v``."""
    quiet = run("call", *ON_LEGACY, "echo", "text=a", cwd=tmp_path)
    assert "open for ships" not in quiet.err
    assert "open for ships" in (dragoman_home / "logs" / "adhoc.log").read_text()
    loud = run("call", *ON_LEGACY, "-v", "echo", "text=a", cwd=tmp_path)
    assert "| harbour: open for ships" in loud.err
    assert "connected" in loud.err


def test_words_of_a_server_cannot_pass_for_ours(tmp_path: Path) -> None:
    """A server may write "hint: dragoman enable evil" on stderr or as a log message: who it is stands before it."""
    program = (
        "import json, sys\n"
        "print('hint: dragoman enable evil', file=sys.stderr, flush=True)\n"
        "note = {'jsonrpc': '2.0', 'method': 'notifications/message', 'params': {'level': 'error', 'data': 'all is lost'}}\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    if 'id' not in asked: continue\n"
        "    found = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}, 'logging': {}}}\n"
        "    found['serverInfo'] = {'name': 'x', 'version': '1'}\n"
        "    if asked['method'] == 'tools/list': found = {'tools': [{'name': 'a', 'inputSchema': {'type': 'object'}}]}\n"
        "    if asked['method'] == 'tools/call': found = {'content': []}; print(json.dumps(note))\n"
        "    if asked['method'] == 'server/discover': answer = {'error': {'code': -32601, 'message': 'no'}}\n"
        "    else: answer = {'result': found}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer}), flush=True)\n"
    )
    config = tmp_path / "servers.toml"
    config.write_text(f'[servers.mine]\ncommand = {json.dumps([sys.executable, "-c", program])}\ndefault_tier = "L0"\n')
    done = run("call", "--config", str(config), "-v", "mine.a", cwd=tmp_path)
    assert done.code == 0
    lines = done.err.splitlines()
    assert "mine| hint: dragoman enable evil" in lines
    assert "mine| [error] all is lost" in lines
    assert not [line for line in lines if line.startswith(("hint:", "warning:", "error:"))]


def test_stdout_that_nobody_reads_is_no_drama(tmp_path: Path) -> None:
    """Our choice: quiet, as other programs in a pipe are."""
    import subprocess

    (tmp_path / "long.txt").write_text("x" * 200_000)
    command = f"{sys.executable} -W error -m dragoman call --on '{' '.join(LEGACY)}' echo text=@long.txt; echo rc=$? >&2"
    done = subprocess.run(
        ["sh", "-c", f"({command}) | true"], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False, start_new_session=True
    )
    assert done.stderr == "rc=141\n"
    assert nobody_left_in(tmp_path)


def test_termination_stops_the_server_too(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: no process left behind; the audit says that the call was cancelled."""
    import signal
    import subprocess

    command = [sys.executable, "-m", "dragoman", "call", "--trace", *ON_LEGACY, "slow", "seconds=60"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"tools/call" in line:
                break
        assert len(alive_in(tmp_path)) == 2
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(30) == 143
    assert nobody_left_in(tmp_path)
    assert endings(dragoman_home) == [("slow", "cancelled")]

"""The program itself: what it loads, its help, its words for its own words."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
from importlib import import_module

import click
import pytest

from dragoman.cli.main import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_there_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract: the table of commands names only what is built."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: dragoman {name} ")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract; no words at all mean help too."""
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert main([]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("words", [["--version"], ["call", "--version"], ["status", "--version"]])
def test_version_at_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract."""
    from dragoman._version import __version__

    assert main(words) == 0
    assert capsys.readouterr().out == f"dragoman {__version__}\n"


@pytest.mark.parametrize("words", [["--version", "--json"], ["--json", "call", "--version"]])
def test_version_as_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract: ``--json`` everywhere, before and after."""
    from dragoman._version import __version__

    assert main(words) == 0
    assert json.loads(capsys.readouterr().out) == {"version": __version__}


def loaded_by(*words: str) -> set[str]:
    code = (
        "import sys\nfrom dragoman.cli.main import main\nmain(sys.argv[1:])\n"
        "print(*sorted({name for name in sys.modules if name.count('.') < 2}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=30, check=True)
    return set(done.stderr.split())


def test_help_loads_nothing_of_the_runtime() -> None:
    """Our contract: every command starts fast."""
    heavy = {"aiohttp", "jsonschema_rs", "asyncio", "tomlkit", "sqlite3", "dragoman.runtime", "dragoman.service", "dragoman.policy", "rich"}
    assert not loaded_by("--help") & heavy


def test_a_call_on_a_command_loads_no_http_and_no_toml_writer() -> None:
    """Our contract: measured, aiohttp alone would double the time to the first result."""
    command = f"{sys.executable} -m dragoman.demo.legacy"
    assert not loaded_by("call", "--on", command, "echo", "text=a") & {"aiohttp", "tomlkit", "truststore", "rich"}


def test_the_log_is_as_it_was_before() -> None:
    """Our choice: a program that calls ``main`` keeps its own logging."""
    logger = logging.getLogger("dragoman")
    before = (logger.handlers[:], logger.level, logger.propagate)
    assert main(["call", "--on", "no-such-program-anywhere", "x"]) == 4
    assert (logger.handlers, logger.level, logger.propagate) == before


def test_an_unforeseen_error_is_a_message_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract: no traceback unless ``--debug``."""

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr("dragoman.service.targets.target_of", broken)
    assert main(["probe", "--", "x"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("error: RuntimeError: what nobody thought of\nhint: ")
    assert "Traceback" not in shown
    assert main(["probe", "--debug", "--", "x"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("fault", [RuntimeError("a bug"), OSError("a disk")], ids=lambda fault: type(fault).__name__)
def test_an_unforeseen_error_in_a_call_does_not_say_that_it_did_not_run(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Our contract: ``maybe_ran`` is ``no`` only where that is known."""

    async def broken(*args: object, **kwargs: object) -> None:
        raise fault

    monkeypatch.setattr("dragoman.service.calls.call_tool", broken)
    words = ["--json", "call", "--on", f"{sys.executable} -m dragoman.demo.legacy", "echo", "text=x"]
    assert main(words) == 1
    assert json.loads(capsys.readouterr().out)["error"]["maybe_ran"] == "perhaps"
    assert main(["--json", "logs", "nobody"]) != 0
    assert json.loads(capsys.readouterr().out)["error"]["maybe_ran"] == "no"


def test_ctrl_c_is_what_it_was_after_a_command_of_a_program_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While an interruption is told Ctrl-C is off, and for a program of its own till its end."""
    during: list[object] = []

    def broken(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    def told(text: str) -> None:
        during.append(signal.getsignal(signal.SIGINT))
        raise KeyboardInterrupt  # had it come a moment earlier

    monkeypatch.setattr("dragoman.service.targets.target_of", broken)
    monkeypatch.setattr("dragoman.cli.output.note", told)
    before = signal.getsignal(signal.SIGINT)
    assert main(["probe", "--", "x"]) == 130
    assert during == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) is before


def test_secrets_are_not_in_error_messages(capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract: a command line may hold one."""
    assert main(["call", "--on", f"{sys.executable} -c exit(3) postgresql://ada:hunter22@host/db", "x"]) == 4
    assert "hunter22" not in capsys.readouterr().err


def test_completion_scripts_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Our contract: completion in three shells."""
    for shell in ("zsh", "fish"):
        monkeypatch.setenv("_DRAGOMAN_COMPLETE", f"{shell}_source")
        assert main([]) == 0
        assert "_DRAGOMAN_COMPLETE" in capsys.readouterr().out

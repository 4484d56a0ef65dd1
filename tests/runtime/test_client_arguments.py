"""What is no JSON object is refused before anything is sent."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dragoman.errors import ConfigError, LocalProtocolError
from dragoman.runtime.client import Client
from tests.runtime.fakes import FakeServer, client


@pytest.mark.parametrize("arguments", [[1], "x", 5])
async def test_arguments_that_are_no_mapping_are_refused(arguments: Any) -> None:
    """Our choice; checked before the connection is looked at."""
    with pytest.raises(LocalProtocolError, match="arguments must be a mapping"):
        await Client(["true"]).call_tool("x", arguments)


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        (None, {}, "target must be a command as a list, a URL or a transport, got None"),
        (5, {}, "target must be .*, got 5"),
        (["x", None], {}, "target must be a command of text items, got None"),
        (["x\0"], {}, "target must be text without NUL"),
        (["x"], {"name": "\ud800"}, "name must be valid Unicode text"),
        (["x"], {"version": 1}, "version must be text, got 1"),
        (["x"], {"env": {"A": None}}, "env\\['A'\\] must be text, got NoneType"),
        (["x"], {"env": {"A=B": "c"}}, "a name without '='"),
        (["x"], {"env": "A=b"}, "env must be a mapping"),
        (["x"], {"inherit": "PATH"}, "inherit must be a list of names"),
        (["x"], {"cwd": 5}, "cwd must be a path, got 5"),
        (["x"], {"roots": 5}, "roots must be a list of folders"),
        ("http://x/", {"headers": {"a": None}}, "headers\\['a'\\] must be text"),
        (["x"], {"timeout_s": "5"}, "timeout_s must be a positive number of seconds, got '5'"),
        (["x"], {"timeout_s": math.nan}, "timeout_s must be a positive number of seconds, got nan"),
        (["x"], {"connect_timeout_s": -1}, "connect_timeout_s must be"),
        (["x"], {"stop_s": -1}, "stop_s must be a finite number of seconds, 0 or more, got -1"),
        (["x"], {"stop_s": math.nan}, "stop_s must be"),
        (["x"], {"frame_limit": 0}, "frame_limit must be a positive number of bytes, got 0"),
        (["x"], {"frame_limit": 1.5}, "frame_limit must be"),
    ],
)
def test_argument_that_cannot_be_meant_is_named_with_what_was_expected(target: Any, options: dict[str, Any], words: str) -> None:
    """Our choice: an error of ours where it is made, not Python's own somewhere later."""
    with pytest.raises(LocalProtocolError, match=words):
        Client(target, **options)


@pytest.mark.parametrize("scheme", ["http", "https", "ws", "tcp", "unix"])
def test_url_that_cannot_be_read_is_a_mistake_of_the_configuration(scheme: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Invalid IPv6 URL"):
        Client(f"{scheme}://[::1")


def test_secret_in_a_wrong_place_is_not_shown() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        Client(["x"], env={"TOKEN": b"hunter2"})  # type: ignore[dict-item]  # that is the mistake
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, b"x", {1}, frozenset(), {1: 2}, {b"k": 1}, [{"deep": math.nan}]])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_argument_that_json_cannot_hold_is_refused_and_nothing_is_sent(value: Any, era: str) -> None:
    """An encoder would write null for NaN and base64 for bytes, and the server would act on that."""
    server = FakeServer(era=era)
    async with client(server) as mine:
        sent = len(server.sent)
        with pytest.raises(LocalProtocolError, match=r"the params of tools/call cannot be written as JSON: .*/arguments/x"):
            await mine.call_tool("echo", {"text": "a", "x": value})
        with pytest.raises(LocalProtocolError, match="completion/complete cannot be written as JSON"):
            await mine.complete({"type": "ref/prompt", "name": "p"}, "a", "v", context={"x": value})
        assert len(server.sent) == sent
        assert (await mine.call_tool("echo", {"text": "ok", "n": 1.5, "l": (1, [True, None])})).text == "ok"


async def test_deadline_of_a_call_that_is_no_number_is_refused() -> None:
    server = FakeServer()
    async with client(server) as mine:
        for wrong in ("5", math.nan, 0, -1):
            with pytest.raises(LocalProtocolError, match=r"timeout_s must be|deadline of"):
                await mine.call_tool("echo", {}, timeout_s=wrong)  # type: ignore[arg-type]  # that is the mistake

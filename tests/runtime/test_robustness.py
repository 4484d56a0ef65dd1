"""The real client against the odd servers, as processes: eras, versions, answers and bytes that are odd. Nobody waits for ever."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dragoman import Client
from dragoman.errors import (
    CallTimeout,
    ConnectFailed,
    MalformedResponse,
    ResultTooLarge,
    ServerError,
    SpawnFailed,
    VersionMismatch,
)
from dragoman.runtime.eras import RememberedEras
from tests.runtime.fakes import client, odd


class Sent:
    """Methods of what the client sends, in order, over all connections."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def __call__(self, direction: str, message: bytes | bytearray) -> None:
        if direction == "→":
            self.methods.append(json.loads(message).get("method", "answer"))


async def echo(mine: Client, text: str, **options: Any) -> str:
    return (await mine.call_tool("echo", {"text": text}, **options)).text


# --- eras and versions

HANDSHAKE = ["initialize", "notifications/initialized"]


async def test_exits_on_probe() -> None:
    sent = Sent()
    async with client(odd("exits_on_probe"), on_wire=sent) as mine:
        assert mine.server.era == "legacy"
        assert await echo(mine, "hi") == "echo: hi"
    assert sent.methods == ["server/discover", *HANDSHAKE, "tools/call"]


async def test_ignores_probe() -> None:
    """The first time after a second, at once later: by what is sent."""
    sent, eras = Sent(), RememberedEras()
    async with client(odd("ignores_probe"), on_wire=sent, eras=eras) as mine:
        assert mine.server.era == "legacy"
    assert sent.methods == ["server/discover", *HANDSHAKE]
    sent.methods.clear()
    async with client(odd("ignores_probe"), on_wire=sent, eras=eras):
        assert sent.methods == HANDSHAKE


@pytest.mark.parametrize("name", ["slow_modern", "slow_dual"])
async def test_slow_modern_servers_connect_as_modern(name: str) -> None:
    sent = Sent()
    async with client(odd(name, 1.3), on_wire=sent) as mine:
        assert mine.server.era == "modern"
        assert await echo(mine, "hi") == "echo: hi"
        assert mine.violations == {}
    assert sent.methods == ["server/discover", "initialize", "tools/call"]


@pytest.mark.slow
async def test_modern_treats_as_legacy() -> None:
    sent, eras = Sent(), RememberedEras()
    async with client(odd("modern_treats_as_legacy", 1.3), on_wire=sent, eras=eras) as mine:
        assert await echo(mine, "hi") == "echo: hi"
        assert mine.server.era == "modern"
    assert sent.methods == ["server/discover", "initialize", "tools/call", "server/discover", "tools/call"]


@pytest.mark.parametrize(("args", "era", "revision"), [((), "modern", "2026-07-28"), (("legacy-only",), "legacy", "2025-11-25")])
async def test_dual(args: tuple[str, ...], era: str, revision: str) -> None:
    async with client(odd("dual", *args)) as mine:
        assert (mine.server.era, mine.server.revision) == (era, revision)
        assert await echo(mine, "hi") == "echo: hi"


async def test_answers_everything() -> None:
    async with client(odd("answers_everything")) as mine:
        assert mine.server.era == "legacy"


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_version_2024_and_younger(revision: str) -> None:
    async with client(odd("version_2024", revision)) as mine:
        assert mine.server.revision == revision
        assert await echo(mine, "hi") == "echo: hi"


@pytest.mark.parametrize("args", [(), ("modern",)])
async def test_future_version(args: tuple[str, ...]) -> None:
    with pytest.raises(VersionMismatch, match="2099-01-01") as caught:
        await client(odd("future_version", *args)).open()
    assert (caught.value.theirs, caught.value.hint) == (("2099-01-01",), "upgrade this client")


async def test_refuses_initialize() -> None:
    async with client(odd("refuses_initialize")) as mine:
        assert mine.server.revision == "2024-11-05"
    with pytest.raises(ServerError, match="licence expired"):
        await client(odd("refuses_initialize", "plain")).open()


# --- servers that do not start


async def test_exits_at_once() -> None:
    with pytest.raises(SpawnFailed, match="HARBOUR_KEY is not set") as caught:
        await client(odd("exits_at_once")).open()
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("status", [0, 9])
async def test_exits_on_initialize(status: int) -> None:
    with pytest.raises(SpawnFailed, match="cannot open the database") as caught:
        await client(odd("exits_on_initialize", status), eras=await remembering("legacy", odd("exits_on_initialize", status))).open()
    assert caught.value.exit_code == status


async def remembering(era: Any, command: list[str]) -> RememberedEras:
    eras = RememberedEras()
    await eras.remember("\0".join([*command, ""]), era)
    return eras


async def test_garbage() -> None:
    mine = client(odd("garbage"), connect_timeout_s=1.5)
    with pytest.raises(ConnectFailed, match=r"did not answer the handshake within 1\.5 s"):
        await mine.open()
    assert mine.violations["noise"] >= 1


async def test_hangs() -> None:
    with pytest.raises(ConnectFailed, match="did not answer the handshake"):
        await client(odd("hangs"), connect_timeout_s=0.5).open()


# --- answers that are odd


async def test_string_ids() -> None:
    async with client(odd("string_ids")) as mine:
        assert await echo(mine, "hi") == "echo: hi"
        assert mine.violations["id-type"] >= 2


async def test_foreign_id() -> None:
    async with client(odd("foreign_id")) as mine:
        assert await echo(mine, "hi") == "echo: hi"
        with pytest.raises(CallTimeout) as caught:
            await echo(mine, "lost", timeout_s=0.3)
        assert caught.value.hint == "meanwhile it sent an answer to 99999, which was never asked"
        assert mine.violations["foreign-id"] == 2


async def test_answers_twice() -> None:
    async with client(odd("answers_twice")) as mine:
        assert [await echo(mine, text) for text in "ab"] == ["echo: a", "echo: b"]


async def test_late_answer() -> None:
    sent = Sent()
    async with client(odd("late_answer"), on_wire=sent) as mine:
        with pytest.raises(CallTimeout):
            await echo(mine, "slow", timeout_s=0.2)
        assert await echo(mine, "fine") == "echo: fine"
        assert sent.methods.count("notifications/cancelled") == 1
        assert mine.violations == {}


async def test_reverse_order() -> None:
    async with client(odd("reverse_order")) as mine:
        assert await asyncio.gather(*(echo(mine, text) for text in "abc")) == ["echo: a", "echo: b", "echo: c"]


async def test_null_error_member() -> None:
    async with client(odd("null_error_member")) as mine:
        assert await echo(mine, "hi") == "echo: hi"


async def test_error_and_result() -> None:
    async with client(odd("error_and_result")) as mine:
        with pytest.raises(ServerError, match="not done"):
            await echo(mine, "both")
        with pytest.raises(MalformedResponse, match="neither result nor error"):
            await echo(mine, "neither")
        assert await echo(mine, "fine") == "echo: fine"


@pytest.mark.parametrize("text", ["bare", "code", "nothing", "huge", "list"])
async def test_odd_errors(text: str) -> None:
    async with client(odd("odd_errors")) as mine:
        with pytest.raises(ServerError) as caught:
            await echo(mine, text)
        assert str(caught.value)
        with pytest.raises(CallTimeout):
            await echo(mine, "no_id", timeout_s=0.2)
        assert await echo(mine, "other") == "echo: other"


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
async def test_batch(revision: str) -> None:
    async with client(odd("batch", revision)) as mine:
        assert await echo(mine, "hi") == "echo: hi"
        assert mine.violations == ({} if revision == "2025-03-26" else {"batch": 1})


# --- bytes that are odd


@pytest.mark.parametrize("name", ["crlf_bom", "dribble", "banner"])
async def test_unusual_framing(name: str) -> None:
    async with client(odd(name)) as mine:
        assert [await echo(mine, text) for text in ("hi", "größe")] == ["echo: hi", "echo: größe"]
        assert bool(mine.violations) == (name != "dribble")


async def test_glued_log() -> None:
    async with client(odd("glued_log")) as mine:
        for text in ("front", "back", "both", "two", "braces", "plain"):
            assert await echo(mine, text) == f"echo: {text}"
        assert mine.violations["glued"] >= 5


async def test_bad_utf8() -> None:
    async with client(odd("bad_utf8")) as mine:
        assert mine.server.instructions == "one\ufffdtwo"
        assert await echo(mine, "x") == "before\ufffdafter"
        assert mine.violations["bad-utf8"] == 2


async def test_lone_surrogate() -> None:
    async with client(odd("lone_surrogate")) as mine:
        assert await echo(mine, "x") == "half a \ufffd boat"
        assert await echo(mine, "fine") == "echo: fine"


async def test_nan_result() -> None:
    async with client(odd("nan_result")) as mine:
        result = await mine.call_tool("echo", {"text": "x"})
        assert result.structured == {"mean": None, "most": None, "least": None}
        assert mine.violations == {"bad-json": 1}


async def test_deep_json() -> None:
    async with client(odd("deep_json")) as mine:
        with pytest.raises(MalformedResponse, match="nested too deeply"):
            await echo(mine, "x")
        assert await echo(mine, "fine") == "echo: fine"


@pytest.mark.parametrize("where", ["first", "last"])
async def test_big_line(where: str) -> None:
    async with client(odd("big_line", 3_000_000, where), frame_limit=1_000_000) as mine:
        with pytest.raises(ResultTooLarge, match="limit 1000000"):
            await echo(mine, "x")
        assert await echo(mine, "fine") == "echo: fine"
    async with client(odd("big_line", 3_000_000, where)) as mine:
        assert len(await echo(mine, "x")) == 3_000_000


async def test_last_words() -> None:
    async with client(odd("last_words")) as mine:
        assert await echo(mine, "bye") == "echo: bye"

"""What a server asks of us: answered where somebody is there to answer, refused with -32601 otherwise, never dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from dragoman.errors import LocalProtocolError
from dragoman.runtime.asking import Ask, Asker, AskNext, Elicitation, ElicitationAnswer
from dragoman.wire.envelope import ErrorBody
from tests.runtime.fakes import Json

FORM = {"message": "Name?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "string", "default": "Ada"}}}}


async def handle(asker: Asker, method: str, params: Json | Raw | None = None) -> Any:
    return await asker.handle("fake", method, params if params is not None else {}, "legacy")


async def test_ping_is_always_answered() -> None:
    assert await handle(Asker(), "ping") == {}


@pytest.mark.parametrize("method", ["roots/list", "sampling/createMessage", "elicitation/create", "x/y", "m" * 10_000])
async def test_what_was_not_declared_is_refused(method: str) -> None:
    """JSON-RPC 2.0: method not found."""
    answer = await handle(Asker(), method)
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32601
    assert len(answer.message) < 200


def test_only_what_somebody_is_there_for_is_declared() -> None:
    """MCP 2025-11-25 client capabilities."""
    assert Asker().capabilities() == {}
    full = Asker(roots=[], on_sampling=lambda params: {}, on_elicitation=lambda ask: ElicitationAnswer("cancel"))
    assert full.capabilities() == {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}


async def later() -> list[str]:
    return ["file:///later"]


@pytest.mark.parametrize(
    "roots", [["/work space", "file:///x/y"], [Path("/work space"), "file:///x/y"], lambda: ["/work space", "file:///x/y"]]
)
async def test_roots_are_folders_or_uris(roots: Any) -> None:
    """MCP client/roots."""
    answer = await handle(Asker(roots=roots), "roots/list")
    assert [root["uri"] for root in answer["roots"]] == ["file:///work%20space", "file:///x/y"]


async def test_root_that_is_no_folder_is_refused_when_it_is_given_and_never_sent() -> None:
    """MCP client/roots: root URIs are file://."""
    with pytest.raises(LocalProtocolError, match="cannot be a root"):
        Asker(roots=["https://x/y"])
    asker = Asker(roots=[])
    with pytest.raises(LocalProtocolError, match="cannot be a root"):
        asker.set_roots(["https://x/y"])
    with pytest.raises(LocalProtocolError, match="cannot be a root"):
        await handle(Asker(roots=lambda: ["https://x/y"]), "roots/list")


async def test_roots_may_come_from_an_async_function() -> None:
    assert (await handle(Asker(roots=later), "roots/list"))["roots"] == [{"uri": "file:///later", "name": "later"}]


async def test_sampling_handler_gets_the_params_and_gives_the_result() -> None:
    async def sample(params: Json) -> Json:
        return {"role": "assistant", "model": params["modelHint"], "content": {"type": "text", "text": "hi"}}

    answer = await handle(Asker(on_sampling=sample), "sampling/createMessage", {"messages": [], "modelHint": "m"})
    assert answer["model"] == "m"


async def test_accepted_form_is_filled_up_with_defaults_and_a_declined_one_has_no_content() -> None:
    """MCP client/elicitation: defaults (from 2025-11-25)."""
    seen: list[Elicitation] = []

    def accept(ask: Elicitation) -> ElicitationAnswer:
        seen.append(ask)
        return ElicitationAnswer("accept", {"m": 1})

    assert await handle(Asker(on_elicitation=accept), "elicitation/create", FORM) == {"action": "accept", "content": {"n": "Ada", "m": 1}}
    assert seen == [Elicitation("Name?", "form", FORM["requestedSchema"], None, "fake")]  # type: ignore[arg-type]  # a literal
    decline = Asker(on_elicitation=lambda ask: ElicitationAnswer("decline", {"n": "secret"}))
    assert await handle(decline, "elicitation/create", FORM) == {"action": "decline"}


async def test_url_mode_shows_the_url_and_sends_no_content() -> None:
    """MCP 2025-11-25 client/elicitation#url-mode."""
    seen: list[Elicitation] = []

    async def accept(ask: Elicitation) -> ElicitationAnswer:
        seen.append(ask)
        return ElicitationAnswer("accept")

    params = {"mode": "url", "message": "Go", "url": "https://x", "elicitationId": "e"}
    assert await handle(Asker(on_elicitation=accept), "elicitation/create", params) == {"action": "accept"}
    assert (seen[0].mode, seen[0].url, seen[0].schema) == ("url", "https://x", None)


@pytest.mark.parametrize("params", [{}, {"message": 5}, {"mode": "url", "message": "Go"}, {"message": "Go", "url": "https://x"}])
async def test_elicitation_without_a_message_or_with_the_wrong_parts_is_refused(params: Json) -> None:
    answer = await handle(Asker(on_elicitation=lambda ask: ElicitationAnswer("cancel")), "elicitation/create", params)
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32602


@pytest.mark.parametrize("odd", [{"properties": None}, {"properties": {}}, {}])
async def test_schema_of_the_wrong_shape_does_no_harm(odd: Json) -> None:
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("accept", {"a": 1}))
    answer = await handle(asker, "elicitation/create", {"message": "?", "requestedSchema": odd})
    assert answer == {"action": "accept", "content": {"a": 1}}


async def test_handler_that_gives_something_else_is_an_internal_error_for_the_server() -> None:
    answer = await handle(Asker(on_elicitation=lambda ask: True), "elicitation/create", FORM)
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32603


@pytest.mark.parametrize("params", [b"[]", b"null", b"5"])
async def test_params_that_are_no_object_are_refused(params: bytes) -> None:
    answer = await handle(Asker(), "ping", Raw(params))
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32602


async def test_layers_stand_around_every_ask_outermost_first() -> None:
    """The second chain has the composer of the first."""
    seen: list[str] = []

    async def outer(ask: Ask, call_next: AskNext) -> Any:
        seen.append(f"outer {ask.server} {ask.method} {ask.era}")
        return await call_next(ask)

    async def inner(ask: Ask, call_next: AskNext) -> Any:
        seen.append("inner")
        return ErrorBody(-1, "not today")

    assert await handle(Asker(layers=[outer, inner]), "ping") == ErrorBody(-1, "not today")
    assert seen == ["outer fake ping legacy", "inner"]


async def test_answer_to_an_ask_of_a_task_names_the_task() -> None:
    """MCP 2025-11-25 basic/utilities/tasks#related-task."""
    related = {"io.modelcontextprotocol/related-task": {"taskId": "T"}}
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("cancel"))
    answer = await handle(asker, "elicitation/create", {**FORM, "_meta": {**related, "progressToken": 1}})
    assert answer == {"action": "cancel", "_meta": related}


async def test_roots_are_declared_with_changes_only_where_changes_can_be_told() -> None:
    """MCP 2026-07-28 client/roots: no listChanged any more."""
    asker = Asker(roots=[])
    assert asker.capabilities() == {"roots": {}}
    assert asker.handshake_capabilities() == {"roots": {"listChanged": True}}
    assert Asker().handshake_capabilities() == {}


def test_root_that_is_no_folder_is_said_when_it_is_given(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """MCP client/roots: accessibility is checked; the folder may be the server's, so it is not dropped."""
    Asker(roots=[tmp_path, (tmp_path).as_uri()])
    assert caplog.text == ""
    Asker(roots=[tmp_path / "not there"])
    assert "not%20there is no folder here" in caplog.text

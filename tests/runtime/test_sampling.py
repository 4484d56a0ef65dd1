"""Messages that a server wants of a model: the rules of tools, and what is passed on whole."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.runtime.asking import Asker
from dragoman.wire.envelope import ErrorBody
from tests.runtime.fakes import Json


async def handle(asker: Asker, method: str, params: Json) -> Any:
    return await asker.handle("fake", method, params, "legacy")


class Model:
    """A handler that takes tools, and notes what it is asked."""

    tools = True

    def __init__(self, answer: Any = None) -> None:
        self.asked: list[Json] = []
        self.answer = answer or {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "hi"}]}

    def __call__(self, params: Json) -> Any:
        self.asked.append(params)
        return self.answer


USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "u1", "name": "t", "input": {}}]}
RESULT = {"type": "tool_result", "toolUseId": "u1", "content": [], "_meta": {"k": 1}}


async def test_sampling_with_tools_is_declared_only_where_the_handler_says_so() -> None:
    """MCP 2025-11-25 client/sampling#tools-in-sampling."""
    plain = Asker(on_sampling=lambda params: {})
    assert plain.capabilities() == {"sampling": {}}
    assert Asker(on_sampling=Model()).capabilities() == {"sampling": {"tools": {}}}
    members: list[Json] = [{"tools": []}, {"toolChoice": {"mode": "auto"}}]
    for member in members:
        answer = await handle(plain, "sampling/createMessage", {"messages": [], **member})
        assert isinstance(answer, ErrorBody)
        assert answer.code == -32602


async def test_sampling_with_tools_and_lists_of_content_passes_whole() -> None:
    """MCP 2025-11-25 client/sampling: content arrays, audio, tool use and its results with their _meta."""
    model = Model()
    messages = [
        {"role": "user", "content": [{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}, {"type": "text", "text": "x"}]},
        USE,
        {"role": "user", "content": [RESULT]},
    ]
    params = {"messages": messages, "tools": [{"name": "t", "inputSchema": {}}], "toolChoice": {"mode": "required"}, "maxTokens": 5}
    answer = await handle(Asker(on_sampling=model), "sampling/createMessage", params)
    assert answer == model.answer
    assert model.asked == [params]


@pytest.mark.parametrize(
    "messages",
    [
        [USE],
        [USE, {"role": "user", "content": {"type": "text", "text": "x"}}],
        [USE, {"role": "user", "content": [RESULT, {"type": "text", "text": "x"}]}],
        [{"role": "user", "content": [RESULT]}],
        [USE, {"role": "user", "content": [{**RESULT, "toolUseId": "other"}]}],
        [USE, {"role": "assistant", "content": [RESULT]}],
        ["x"],
        None,
    ],
)
async def test_uses_of_tools_without_their_results_are_refused(messages: Any) -> None:
    """MCP 2025-11-25 client/sampling#message-content-constraints: -32602."""
    model = Model()
    answer = await handle(Asker(on_sampling=model), "sampling/createMessage", {"messages": messages})
    assert isinstance(answer, ErrorBody)
    assert (answer.code, model.asked) == (-32602, [])


async def test_person_who_declines_a_sampling_is_an_error_of_its_own() -> None:
    """MCP 2025-11-25 client/sampling#error-handling: -1."""
    answer = await handle(Asker(on_sampling=lambda params: None), "sampling/createMessage", {"messages": []})
    assert isinstance(answer, ErrorBody)
    assert answer.code == -1


@pytest.mark.parametrize(
    "odd", [{}, "hi", {"role": "assistant", "model": "m", "content": "hi"}, {"role": "system", "model": "m", "content": {}}]
)
async def test_sampling_handler_that_gives_no_message_is_an_internal_error(odd: Any) -> None:
    answer = await handle(Asker(on_sampling=lambda params: odd), "sampling/createMessage", {"messages": []})
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32603

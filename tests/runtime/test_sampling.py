"""Messages that a server wants of a model: the rules of tools, and what is passed on whole."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.runtime.asking import Ask, Asker, AskNext
from dragoman.runtime.sampling import MAX_A_MINUTE, Rate
from dragoman.wire.envelope import ErrorBody
from tests.runtime.fakes import FakeServer, Json, client, until


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


def text(words: str) -> Json:
    return {"type": "text", "text": words}


async def asked_over(revision: str, content: Any, times: int = 1) -> list[Json]:
    """What a server of this revision gets for so many samplings, in order."""

    def on(message: Json) -> list[Json] | None:
        if message.get("method") == "initialize":
            info = {"name": "s", "version": "1"}
            return [{"id": message["id"], "result": {"protocolVersion": revision, "capabilities": {}, "serverInfo": info}}]
        return None

    server = FakeServer(on)
    answer = {"role": "assistant", "model": "m", "content": content}
    async with client(server, on_sampling=lambda params: answer):
        for number in range(times):
            server.say({"id": f"s{number}", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}})
        await until(lambda: len([one for one in server.sent if str(one.get("id")).startswith("s")]) == times)
    return [one for one in server.sent if str(one.get("id")).startswith("s")]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18"])
async def test_older_server_gets_one_block_of_content_or_an_error(revision: str) -> None:
    """MCP schema CreateMessageResult: an array came with 2025-11-25."""
    for content, want in (([text("a")], text("a")), ([text("a"), text("b")], text("a\nb")), (text("a"), text("a"))):
        (answer,) = await asked_over(revision, content)
        assert answer["result"]["content"] == want
    (answer,) = await asked_over(revision, [text("a"), {"type": "image", "data": "", "mimeType": "image/png"}])
    assert "has room for one" in answer["error"]["message"]
    (answer,) = await asked_over("2025-11-25", [text("a"), text("b")])
    assert answer["result"]["content"] == [text("a"), text("b")]


async def test_samplings_of_a_server_in_a_minute_are_bounded() -> None:
    """MCP client/sampling#security: rate, and loops of tools, which are a row of samplings."""
    answers = await asked_over("2025-11-25", text("a"), times=MAX_A_MINUTE + 3)
    refused = [one["error"] for one in answers if "error" in one]
    assert [error["code"] for error in refused] == [-1] * 3
    assert "samplings in a minute" in refused[0]["message"]


def test_rate_is_of_the_last_minute() -> None:
    rate = Rate(2)
    assert [rate.allows(now) for now in (0.0, 30.0, 59.0, 60.0, 61.0, 90.0)] == [True, True, False, True, False, True]


async def test_person_can_change_what_is_asked_of_a_model_and_what_it_said() -> None:
    """MCP client/sampling: a layer around the ask sees and edits both."""
    model = Model({"role": "assistant", "model": "m", "content": text("secret")})

    async def review(ask: Ask, ask_next: AskNext) -> Any:
        answer = await ask_next(msgspec.structs.replace(ask, params={**ask.params, "systemPrompt": "be kind"}))
        return {**answer, "content": text("reviewed")}

    answer = await handle(Asker(on_sampling=model, layers=[review]), "sampling/createMessage", {"messages": [], "maxTokens": 5})
    assert (model.asked[0]["systemPrompt"], model.asked[0]["maxTokens"]) == ("be kind", 5)
    assert answer["content"] == text("reviewed")

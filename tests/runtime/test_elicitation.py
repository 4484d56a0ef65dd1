"""Forms and addresses: what is not shown to a person, and what of an answer is not sent."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.runtime.asking import Asker, Elicitation, ElicitationAnswer
from dragoman.wire.envelope import ErrorBody
from tests.runtime.fakes import Json


async def handle(asker: Asker, method: str, params: Json) -> Any:
    return await asker.handle("fake", method, params, "legacy")


def form(**fields: Any) -> Json:
    return {"message": "?", "requestedSchema": {"type": "object", "properties": fields}}


class Never:
    """A handler that must not be asked."""

    modes: tuple[str, ...] = ("form", "url")

    def __call__(self, ask: Elicitation) -> ElicitationAnswer:
        raise AssertionError(ask)


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object", "properties": {"deep": {"type": "string"}}},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "object"}},
        {"$ref": "#/$defs/x"},
        {"type": "null"},
        {"type": ["string", "null"]},
        {},
        "string",
        True,
    ],
)
async def test_form_with_a_field_that_is_no_primitive_is_not_shown(field: Any) -> None:
    """MCP client/elicitation#requested-schema: flat objects of primitives only."""
    answer = await handle(Asker(on_elicitation=Never()), "elicitation/create", form(n=field))
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32602
    assert "/properties/n" in answer.message


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "object", "properties": []}, [], "x"])
async def test_form_that_is_no_object_is_not_shown(schema: Any) -> None:
    answer = await handle(Asker(on_elicitation=Never()), "elicitation/create", {"message": "?", "requestedSchema": schema})
    assert isinstance(answer, ErrorBody)


CHOICE = {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}
SEVERAL = {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}, "maxItems": 1}


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "a"),
        ({"type": "string", "maxLength": 3}, "", "abcd"),
        ({"type": "string"}, "x", 5),
        ({"type": "string", "format": "email"}, "a@b.example", "a at b"),
        ({"type": "string", "format": "uri"}, "https://x/y", "x y"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-30"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00Z", "2026-02-28"),
        ({"type": "integer"}, 5, 5.5),
        ({"type": "integer"}, 5, True),
        ({"type": "number", "minimum": 1, "maximum": 2}, 1.5, 3),
        ({"type": "number"}, 0, float("nan")),
        ({"type": "boolean"}, False, "no"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, "a", "c"),
        ({"enum": ["a", "b"]}, "a", "c"),
        (CHOICE, "b", "B"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a", "b"], ["c"]),
        (SEVERAL, ["a"], ["a", "b"]),
        (SEVERAL, [], "a"),
    ],
)
async def test_answer_is_sent_only_if_it_fits_the_form(field: Json, good: Any, bad: Any) -> None:
    """MCP client/elicitation#form-mode-security: validated before it is sent."""
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("accept", {"n": good}))
    assert await handle(asker, "elicitation/create", form(n=field)) == {"action": "accept", "content": {"n": good}}
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("accept", {"n": bad}))
    answer = await handle(asker, "elicitation/create", form(n=field))
    assert isinstance(answer, ErrorBody)
    assert "does not fit the form: /n" in answer.message


async def test_required_field_that_is_left_out_is_not_sent_unless_it_has_a_default() -> None:
    asked = form(n={"type": "string"})
    asked["requestedSchema"]["required"] = ["n"]
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("accept"))
    answer = await handle(asker, "elicitation/create", asked)
    assert isinstance(answer, ErrorBody)
    asked["requestedSchema"]["properties"]["n"]["default"] = "x"
    assert await handle(asker, "elicitation/create", asked) == {"action": "accept", "content": {"n": "x"}}


async def test_default_that_does_not_fit_its_own_field_is_not_filled_in() -> None:
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("accept"))
    assert await handle(asker, "elicitation/create", form(n={"type": "integer", "default": "x"})) == {"action": "accept", "content": {}}


async def test_what_nests_is_not_sent_even_where_the_form_does_not_name_it() -> None:
    asker = Asker(on_elicitation=lambda ask: ElicitationAnswer("accept", {"other": {"deep": 1}}))
    assert isinstance(await handle(asker, "elicitation/create", form()), ErrorBody)


async def test_handler_can_look_for_problems_before_it_answers() -> None:
    seen: list[str] = []

    def ask_again(ask: Elicitation) -> ElicitationAnswer:
        seen.extend(map(str, ask.problems({"n": "x"})))
        return ElicitationAnswer("accept", {"n": 5})

    asker = Asker(on_elicitation=ask_again)
    assert await handle(asker, "elicitation/create", form(n={"type": "integer"})) == {"action": "accept", "content": {"n": 5}}
    assert seen == ["/n: must be a number"]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "https://", "x", "https://a b/", "https://a\n/", "https://x:y/"],
)
async def test_address_that_no_browser_should_open_is_not_shown(url: str) -> None:
    """MCP 2025-11-25 client/elicitation#safe-url-handling."""
    answer = await handle(Asker(on_elicitation=Never()), "elicitation/create", {"mode": "url", "message": "Go", "url": url})
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32602


@pytest.mark.parametrize(
    ("url", "host", "warning"),
    [
        ("https://shop.example/pay?x=1", "shop.example", None),
        ("http://shop.example/", "shop.example", "not encrypted"),
        ("http://127.0.0.1:8000/", "127.0.0.1", None),
        ("https://bank.example@evil.example/", "evil.example", "leads to evil.example"),
        ("https://xn--pple-43d.com/", "xn--pple-43d.com", "look like others"),
        ("https://\u0430pple.com/", "xn--pple-43d.com", "look like others"),
    ],
)
async def test_handler_is_told_whose_address_it_is(url: str, host: str, warning: str | None) -> None:
    """MCP 2025-11-25 client/elicitation#safe-url-handling: show the target host, warn of look-alikes."""
    seen: list[Elicitation] = []

    def look(ask: Elicitation) -> ElicitationAnswer:
        seen.append(ask)
        return ElicitationAnswer("decline")

    asked = {"mode": "url", "message": "Go", "url": url}
    assert await handle(Asker(on_elicitation=look), "elicitation/create", asked) == {"action": "decline"}
    assert (seen[0].host, seen[0].url, seen[0].server) == (host, url, "fake")
    assert seen[0].warning is None if warning is None else warning in str(seen[0].warning)


@pytest.mark.parametrize("mode", ["url", "hologram", 5])
async def test_mode_that_was_not_declared_is_refused(mode: Any) -> None:
    """MCP 2025-11-25 client/elicitation#error-handling."""

    class FormsOnly(Never):
        modes = ("form",)

    asker = Asker(on_elicitation=FormsOnly())
    assert asker.capabilities() == {"elicitation": {"form": {}}}
    answer = await handle(asker, "elicitation/create", {"mode": mode, "message": "Go", "url": "https://x"})
    assert isinstance(answer, ErrorBody)
    assert answer.code == -32602

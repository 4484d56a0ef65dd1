"""Arguments are checked before anything is sent, structured results before code sees them, and no schema can do harm."""

from __future__ import annotations

import asyncio
import http.server
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InvalidArguments, InvalidResult, NotAllowed
from dragoman.policy.chain import Call, Outcome
from dragoman.policy.flights import Flights
from dragoman.policy.validate import Validate
from dragoman.testing.layers import Spawned, spawn_layer, tool_result
from dragoman.wire.results import ToolResult, decode_tool_result
from tests.policy.kit import NUMBERS, call_of, tool


def _layer(answer: ToolResult | None = None, flights: Flights | None = None) -> Spawned:
    return spawn_layer(Validate(Flights() if flights is None else flights, redact=lambda text: text.replace("hunter22", "***")), answer)


def _obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


async def _problems(schema: Any, arguments: dict[str, Any], **more: Any) -> dict[str, str]:
    error = await _layer().refused(call_of(tool(schema=schema), arguments, **more))
    assert isinstance(error, InvalidArguments)
    return {problem.path: problem.message for problem in error.problems}


async def test_valid_arguments_pass_untouched() -> None:
    """MCP server/tools: ``inputSchema``."""
    layer = _layer()
    call = call_of(tool(), {"a": 5, "b": "x"})
    await layer(call)
    assert layer.inside.calls == [call]


async def test_problems_say_where_what_was_expected_and_what_came() -> None:
    """Our contract: words fit for a model."""
    found = await _problems(
        _obj(a={"type": "integer"}, mode={"enum": ["fast", "slow"]}, n={"minimum": 3}, s={"minLength": 2}) | {"required": ["path"]},
        {"a": "five", "mode": "fats", "n": 1, "s": "x"},
    )
    assert found["/a"] == 'expected an integer, got the string "five"'
    assert found["/mode"] == 'expected one of "fast", "slow", got the string "fats"; did you mean "fast"?'
    assert found["/n"] == "expected at least 3, got the number 1"
    assert found["/s"] == "expected at least 2 characters, got 1"
    assert found["/path"] == "is required but missing"


async def test_a_missing_member_is_named_with_its_description() -> None:
    """Our contract."""
    schema = _obj(path={"type": "string", "description": "where to look\x1b[2J"}) | {"required": ["path"]}
    assert (await _problems(schema, {}))["/path"] == "is required but missing (a string: where to look\\x1b[2J)"


async def test_an_argument_the_schema_does_not_name_is_a_problem() -> None:
    """Our contract: a guess of the model would be ignored by the server in silence."""
    found = await _problems(_obj(path={"type": "string"}, head={"type": "integer"}), {"path": "x", "haed": 3})
    assert found == {"/haed": 'no such argument; did you mean "head"?'}
    assert (await _problems(_obj(path={}) | {"additionalProperties": False}, {"path": 1, "zzz": 2})) == {
        "/zzz": "no such argument; known: path"
    }


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        _obj(a={}) | {"additionalProperties": True},
        _obj(a={}) | {"additionalProperties": {"type": "integer"}},
        _obj(a={}) | {"unevaluatedProperties": {}},
        _obj(a={}) | {"patternProperties": {"^x": {}}},
        {"allOf": [_obj(a={}), _obj(x={})]},
        {"$ref": "#/$defs/args", "$defs": {"args": _obj(a={}, x={})}},
        {"anyOf": [_obj(a={}), _obj(x={})]},
    ],
)
async def test_extras_pass_where_the_schema_allows_or_names_them_or_names_none(schema: Any) -> None:
    """Our contract."""
    await _layer()(call_of(tool(schema=schema), {"x": 1}))


@pytest.mark.parametrize(
    ("schema", "given_", "read"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, " -12 ", -12),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "number"}, "3", 3),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "False", False),
        ({"type": "array", "items": {"type": "integer"}}, "[1,2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, '["1",2]', [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2], [1, 2]),
        ({"type": "object"}, '{"a":1}', {"a": 1}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"type": ["integer", "null"]}, "null", None),
    ],
)
async def test_a_text_is_read_where_the_schema_leaves_one_reading(schema: Any, given_: Any, read: Any) -> None:
    """Our contract: what models get wrong is repaired and recorded."""
    flights = Flights()
    layer = _layer(flights=flights)
    call = call_of(tool(schema=_obj(v=schema)), {"v": given_})
    flight = flights.open(call)
    await layer(call)
    assert layer.inside.calls[0].arguments == {"v": read}
    assert type(layer.inside.calls[0].arguments["v"]) is type(read)
    assert call.arguments == {"v": given_}, "the caller's own dictionary is left alone"
    assert any(note.startswith("/v") for note in flight.notes)


@pytest.mark.parametrize(
    ("schema", "given_"),
    [
        ({"type": "integer"}, "five"),
        ({"type": "integer"}, "1.5"),
        ({"type": "integer"}, "0x10"),
        ({"type": "integer"}, "05"),
        ({"type": "integer"}, "１"),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "1e999"),
        ({"type": "boolean"}, "1"),
        ({"type": "boolean"}, "yes"),
        ({"type": "integer", "minimum": 10}, "5"),
        ({"type": "array", "items": {"type": "integer"}}, "[1,"),
        ({"type": "array", "items": {"type": "integer"}}, '["x"]'),
        ({"type": "object"}, "[1]"),
        ({"type": "string", "minLength": 3}, "5"),
        ({"type": "string"}, 5),
    ],
)
async def test_nothing_is_guessed(schema: Any, given_: Any) -> None:
    """Our contract: only if the value validates, and never where the schema takes a text."""
    assert "/v" in str(await _problems(_obj(v=schema), {"v": given_}))


async def test_a_numeric_text_stays_text_where_the_schema_takes_text() -> None:
    """Our contract; other clients turn ``1234567890.123456`` into a number."""
    for schema in ({"type": "string"}, {"type": ["string", "integer"]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}):
        layer = _layer()
        await layer(call_of(tool(schema=_obj(ts=schema)), {"ts": "1234567890.123456"}))
        assert layer.inside.calls[0].arguments == {"ts": "1234567890.123456"}


async def test_what_a_person_typed_is_never_coerced() -> None:
    """Our contract: the command line's grammar has typed it already."""
    assert "/a" in await _problems(NUMBERS, {"a": "5"}, from_model=False)


async def test_secrets_are_not_repeated() -> None:
    """Our contract: a problem goes to a model and into logs."""
    found = await _problems(_obj(api_key={"type": "integer"}, x={"type": "integer"}), {"api_key": "sekrit-9", "x": "is hunter22"})
    assert "sekrit" not in str(found)
    assert "hunter22" not in str(found)
    assert "hidden" in found["/api_key"]


async def test_all_problems_up_to_twenty() -> None:
    """Our contract: a model repairs everything in one go, and its context is not flooded."""
    schema = _obj(**{f"p{i}": {"type": "integer"} for i in range(40)})
    error = await _layer().refused(call_of(tool(schema=schema), {f"p{i}": "x" for i in range(40)}))
    assert isinstance(error, InvalidArguments)
    assert len(error.problems) == 21
    assert str(error.problems[-1]) == "and 20 more problems"


async def test_values_are_shortened_and_escaped() -> None:
    """Our contract."""
    found = await _problems(_obj(a={"type": "integer"}), {"a": "\x1b[2J" + "x" * 5000})
    assert len(found["/a"]) < 200
    assert "\x1b" not in found["/a"]


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), b"x", {1: 2}, "\ud800", object(), {"\ud800": 1}, {1, 2}], ids=lambda value: type(value).__name__
)
async def test_what_is_no_json_is_refused(value: Any) -> None:
    """Bad input: it would be sent as something else, or fail far from its cause."""
    error = await _layer().refused(call_of(tool(schema=True), {"a": value}))
    assert isinstance(error, InvalidArguments)
    assert error.problems[0].path == "/a"


async def test_arguments_of_any_depth_end_in_an_answer() -> None:
    """An attack: 20,000 levels overrun the stack of the validator (it ends the process)."""
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"a": deep}
    circle: list[Any] = []
    circle.append(circle)
    recursive = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    for value in (deep, {"a": circle}):
        error = await _layer().refused(call_of(tool(schema=recursive), value))
        assert "nested deeper" in str(error)


async def test_alternatives_are_told_by_the_closest_one() -> None:
    """Our contract: words fit for a model."""
    circle = _obj(kind={"const": "circle"}, r={"type": "number"}) | {"required": ["kind", "r"]}
    square = _obj(kind={"const": "square"}, side={"type": "number"}) | {"required": ["kind", "side"]}
    found = await _problems(_obj(shape={"anyOf": [circle, square]}), {"shape": {"kind": "square", "side": "big"}})
    assert 'expected a number, got the string "big"' in found["/shape/side"]


# --- schemas that cannot be used -------------------------------------------------------------------------------------


def _doubling(steps: int) -> dict[str, Any]:
    defs: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(steps)}
    return {"$defs": defs | {f"d{steps}": {"type": "object"}}, "$ref": "#/$defs/d0"}


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _chain(links: int) -> dict[str, Any]:
    defs: dict[str, Any] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(links)}
    return {"$defs": defs | {f"d{links}": {"properties": {"a": {"$ref": "#/$defs/d0"}}}}, "$ref": "#/$defs/d0"}


HOSTILE = {
    "unknown $schema": {"$schema": "http://example.com/mine", "type": "object"},
    "wrong type": {"type": "strin"},
    "dangling $ref": {"$ref": "#/$defs/none"},
    "broken pattern": _obj(a={"pattern": "("}, b={"type": "strin"}),
    "doubling references": _doubling(40),
    "20,000 levels": _nested(20_000),
    "long chain": _chain(5_000),
    "50,000 members": _obj(**{f"p{i}": {"type": "string"} for i in range(50_000)}),
    "2,000 patterns": _obj(**{f"p{i}": {"pattern": "^a{1,200}$"} for i in range(2_000)}),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_schema_that_cannot_be_used_is_set_aside_with_a_note_and_the_call_goes_through(name: str) -> None:
    """Our contract: the schema is set aside, not the tool. Most of these hang or crash a validator that is not guarded."""
    flights = Flights()
    layer = _layer(tool_result(structured={"a": 1}), flights)
    call = call_of(tool(schema=HOSTILE[name], output=HOSTILE[name]), {"anything": 1})
    flight = flights.open(call)
    outcome = await layer(call)
    assert outcome.ok
    assert any("arguments were not checked" in note for note in flight.notes)
    assert any("result was not checked" in note for note in flight.notes)


async def test_recursion_that_doubles_at_every_level_is_not_followed() -> None:
    """An attack: 2 to the power of the depth; the server writes both the schema and the value."""
    schema = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
    value: dict[str, Any] = {}
    for _ in range(60):
        value = {"a": value}
    flights = Flights()
    layer = _layer(tool_result(structured=value), flights)
    call = call_of(tool(schema=True, output=schema), {})
    flight = flights.open(call)
    await layer(call)
    assert any("too long" in note for note in flight.notes)


async def test_a_text_that_turns_out_deep_is_not_read() -> None:
    """An attack: brackets in a text, which coercion would make into levels that overrun the validator's stack."""
    schema = _obj(a={"$ref": "#/$defs/d0"}) | {"$defs": _chain(25)["$defs"]}
    schema["$defs"]["d25"] = {"type": "array", "items": {"$ref": "#/$defs/d0"}}
    found = await _problems(schema, {"a": "[" * 900 + "]" * 900})
    assert "expected an array" in found["/a"]


async def test_very_many_errors_are_not_all_made() -> None:
    """An attack: doubling references make a million errors out of one wrong value."""
    schema = _doubling(19)
    schema["$defs"]["d19"] = {"required": ["x"]}
    assert await _problems(schema, {}) == {"/x": "is required but missing"}


async def test_ordinary_recursion_is_followed() -> None:
    """What a tree of comments looks like."""
    schema = _obj(text={"type": "string"}, replies={"type": "array", "items": {"$ref": "#"}})
    value: dict[str, Any] = {"text": 5}
    for _ in range(20):
        value = {"text": "x", "replies": [value]}
    assert "expected a string" in str(await _problems(schema, value))


async def test_a_catastrophic_pattern_is_just_a_pattern() -> None:
    """An attack: ``(a+)+$``; the engine is linear."""
    found = await _problems(_obj(a={"type": "string", "pattern": "^(a|aa|a+)+$"}), {"a": "a" * 50_000 + "!"})
    assert "expected text that matches" in found["/a"]


async def test_a_pattern_with_look_around_is_left_out_and_the_rest_is_checked() -> None:
    """What zod writes for an email address."""
    flights = Flights()
    layer = _layer(flights=flights)
    schema = _obj(mail={"type": "string", "pattern": "^(?!\\.)(?=a)(a+)+$"}, n={"type": "integer"})
    call = call_of(tool(schema=schema), {"mail": "a" * 40 + "!", "n": 1})
    flight = flights.open(call)
    await layer(call)
    assert "1 pattern(s)" in flight.notes[0]
    assert "/n" in await _problems(schema, {"mail": "x", "n": "no"})


async def test_no_reference_is_fetched_from_network_or_file(tmp_path: Path) -> None:
    """An attack: a ``$ref`` that calls home or reads a file. A canary port and a canary file would show it."""
    hits: list[str] = []

    class Canary(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"required": ["from_network"]}')

    server = http.server.HTTPServer(("127.0.0.1", 0), Canary)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        file = tmp_path / "canary.json"
        file.write_text('{"required": ["from_file"]}')
        url = f"http://127.0.0.1:{server.server_port}/canary.json"
        for target in (url, file.as_uri(), f"file://{file}#"):
            for schema in (
                {"$ref": target},
                {"$id": target, "$ref": "other.json"},
                {"allOf": [{"$dynamicRef": target}]},
                {"$schema": target},
                {"properties": {"a": {"$ref": target}}},
            ):
                # Would the file have been read, its required member would be missed and the call refused.
                call = call_of(tool(schema=schema, output=schema), {"a": {}}, from_model=False)
                await _layer(tool_result(structured={"a": {}}))(call)
        assert hits == []
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.mark.parametrize("target", ["https://example.com/x.json", "file:///etc/hostname", "other.json#/x"])
async def test_guess_that_no_schema_can_check_is_refused_and_a_person_is_not(target: str) -> None:
    """MCP 2026-07-28 basic/index#ref-resolution: a schema with references to elsewhere is refused, not taken for one that allows all."""
    schema = _obj(a={"$ref": target})
    layer = _layer(tool_result())
    with pytest.raises(NotAllowed, match="lies elsewhere and is never fetched"):
        await layer(call_of(tool(schema=schema), {"a": 1}))
    assert (await layer(call_of(tool(schema=schema), {"a": 1}, from_model=False))).ok


async def test_older_drafts_are_known() -> None:
    """JSON Schema draft-07: ``items`` as a list."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **_obj(a={"items": [{"type": "integer"}]})}
    assert "/a/0" in await _problems(schema, {"a": ["x"]}, from_model=False)


# --- results ---------------------------------------------------------------------------------------------------------

OUTPUT = _obj(sum={"type": "integer"}) | {"required": ["sum"]}


async def test_a_structured_result_that_fits_passes() -> None:
    """MCP server/tools#output-schema."""
    outcome = await _layer(tool_result(structured={"sum": 3, "more": 1}))(call_of(tool(output=OUTPUT), {"a": 1}))
    assert isinstance(outcome.result, ToolResult)
    assert outcome.result.structured == {"sum": 3, "more": 1}


@pytest.mark.parametrize(
    ("structured", "path", "words"),
    [
        (None, "/structuredContent", "sent none"),
        ({"sum": "3"}, "/structuredContent/sum", 'expected an integer, got the string "3"'),
        ({}, "/structuredContent", "/structuredContent/sum: is required but missing"),
        ([1], "/structuredContent", "expected an object"),
    ],
)
async def test_a_result_that_breaks_its_promise_is_named_and_kept(structured: Any, path: str, words: str) -> None:
    """MCP server/tools#output-schema: clients SHOULD validate. Our choice: an error that carries the result."""
    with pytest.raises(InvalidResult, match=r"math\.add") as caught:
        await _layer(tool_result("raw", structured=structured))(call_of(tool(output=OUTPUT), {"a": 1}))
    assert caught.value.path == path
    assert words in str(caught.value)
    assert caught.value.result.text == "raw"
    assert caught.value.maybe_ran == "yes"


async def test_a_result_that_says_it_failed_is_never_checked() -> None:
    """Our contract: an error has no structured content to promise."""
    outcome = await _layer(tool_result("no such file", is_error=True))(call_of(tool(output=OUTPUT), {"a": 1}))
    assert not outcome.ok


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
async def test_any_arguments_end_in_a_call_or_in_problems(value: Any) -> None:
    """Nothing but a refusal comes out, whatever a model writes."""
    layer = _layer()
    schema = _obj(a={"type": "integer"}, b={"items": {"type": "string"}})
    (ended,) = await asyncio.gather(layer(call_of(tool(schema=schema), {"a": 1, "b": value})), return_exceptions=True)
    if layer.inside.calls:
        assert isinstance(ended, Outcome)
    else:
        assert isinstance(ended, InvalidArguments)
        assert ended.problems


async def test_cancellation_goes_through() -> None:
    """Every layer."""
    await _layer().cancelled(call_of(tool(), {"a": 1}))


async def test_prompts_and_resources_have_no_schema() -> None:
    """MCP server/prompts: arguments are strings."""
    layer = _layer()
    await layer(Call(id="1", kind="resource", server="s", name="file:///x"))
    assert len(layer.inside.calls) == 1


async def test_a_structured_result_that_python_cannot_hold_fails_the_call_as_invalid() -> None:
    """Our choice: a number out of range fails only its own call, with a name, even where there is no outputSchema."""
    answer = decode_tool_result(b'{"content":[],"structuredContent":{"n":1e400}}')
    with pytest.raises(InvalidResult) as caught:
        await _layer(answer)(call_of(tool(), {"a": 1, "b": "x"}))
    assert caught.value.maybe_ran == "yes"

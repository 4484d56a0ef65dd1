"""What each era adds to a request: bodies and headers."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.errors import LocalProtocolError
from dragoman.protocol.stamp import Stamp, header_value
from dragoman.wire.envelope import encode
from dragoman.wire.listing import Implementation
from dragoman.wire.methods import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_LOG_LEVEL, META_VERSION

META = {META_VERSION: "2026-07-28", META_CLIENT_INFO: {"name": "t", "version": "1"}, META_CLIENT_CAPABILITIES: {"roots": {}}}


def stamp(modern: bool, headers: bool = False) -> Stamp:
    info = Implementation("t", "1")
    return Stamp("2026-07-28" if modern else "2025-11-25", modern=modern, info=info, capabilities={"roots": {}}, headers=headers)


def body(modern: bool, params: Any, token: int | None = None, meta: dict[str, Any] | None = None) -> Any:
    return msgspec.json.decode(encode(stamp(modern).params(params, token, meta)))


@pytest.mark.parametrize("params", [None, {"name": "x"}, Raw(b'{"name":"x"}')])
def test_legacy_adds_nothing_and_a_token_where_progress_is_wanted(params: Any) -> None:
    plain = {} if params is None else {"name": "x"}
    assert body(False, params) == plain
    assert body(False, params, 7) == plain | {"_meta": {"progressToken": 7}}
    assert body(False, params, 7, {"a": 1}) == plain | {"_meta": {"progressToken": 7, "a": 1}}


@pytest.mark.parametrize("params", [None, {"name": "x"}, Raw(b'{"name":"x"}')])
def test_modern_says_version_name_and_capabilities_with_every_request(params: Any) -> None:
    """MCP 2026-07-28 basic/index#_meta."""
    plain = {} if params is None else {"name": "x"}
    assert body(True, params) == plain | {"_meta": META}
    assert body(True, params, 7, {"a": 1}) == plain | {"_meta": META | {"progressToken": 7, "a": 1}}


@pytest.mark.parametrize("params", [{"_meta": {"mine": 1, META_VERSION: "0"}}, Raw(encode({"_meta": {"mine": 1, META_VERSION: "0"}}))])
def test_meta_inside_the_params_is_merged_and_the_protocols_own_keys_win(params: Any) -> None:
    assert body(True, params)["_meta"] == META | {"mine": 1}
    assert body(False, params, 1)["_meta"] == {"mine": 1, META_VERSION: "0", "progressToken": 1}


def test_meta_argument_may_not_set_what_the_protocol_owns() -> None:
    with pytest.raises(LocalProtocolError, match="belong to the protocol"):
        stamp(True).params({}, None, {META_VERSION: "2025-11-25"})
    assert body(True, {}, None, {META_LOG_LEVEL: "info"})["_meta"][META_LOG_LEVEL] == "info"


def test_the_callers_params_are_not_changed() -> None:
    params: dict[str, Any] = {"name": "x", "_meta": {"a": 1}}
    stamp(True).params(params, 7, {"b": 2})
    assert params == {"name": "x", "_meta": {"a": 1}}


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("run_sql", "run_sql"),
        ("two words", "two words"),
        ("", ""),
        (True, "true"),
        (False, "false"),
        (-5, "-5"),
        (" lead", "=?base64?IGxlYWQ=?="),
        ("tail ", "=?base64?dGFpbCA=?="),
        ("a\tb", "=?base64?YQli?="),
        ("größe", "=?base64?Z3LDtsOfZQ==?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("a\r\nEvil: 1", "=?base64?YQ0KRXZpbDogMQ==?="),
    ],
)
def test_header_values_are_plain_where_they_can_be(value: Any, sent: str) -> None:
    """MCP 2026-07-28 streamable-http, header encoding."""
    assert header_value(value) == sent


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_becomes_a_harmless_header_and_can_be_read_back(text: str) -> None:
    value = header_value(text)
    assert all(" " <= letter <= "~" for letter in value)
    assert value == value.strip()
    if value.startswith("=?base64?") and value.endswith("?="):
        assert base64.b64decode(value[9:-2]).decode() == text
    else:
        assert value == text


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "t"}, "t"),
        ("tools/call", Raw(b'{"name":"t","arguments":{}}'), "t"),
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tasks/get", {"taskId": "T"}, "T"),
        ("tools/list", {"name": "t"}, None),
        ("tools/call", {"name": 5}, None),
        ("tools/call", None, None),
    ],
)
def test_headers_name_method_and_subject_in_the_modern_era(method: str, params: Any, name: str | None) -> None:
    """MCP 2026-07-28 streamable-http#headers."""
    expected = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)] + ([("Mcp-Name", name)] if name else [])
    assert stamp(True, headers=True).headers(method, params, (("X", "1"),)) == (*expected, ("X", "1"))
    assert stamp(False, headers=True).headers(method, params) == (("MCP-Protocol-Version", "2025-11-25"),)
    assert stamp(True).headers(method, params, (("X", "1"),)) == ()

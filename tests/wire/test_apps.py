"""The apps extension: views and visibility out of what servers write, lenient where it harms nobody."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from dragoman.wire.apps import VIEW_TYPE, View, for_models, view_of, view_uri
from dragoman.wire.content import ResourceContents

URI = "ui://clock/app.html"
PAGE = "<!DOCTYPE html><title>clock</title>"


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        ({"ui": {"resourceUri": URI}}, URI),
        ({"ui/resourceUri": URI}, URI),
        ({"ui": {"resourceUri": URI}, "ui/resourceUri": "ui://old"}, URI),
        ({"ui": {"visibility": ["app"]}}, None),
        ({"ui": {"resourceUri": "https://evil.example/"}}, None),
        ({"ui": {"resourceUri": 7}}, None),
        ({"ui": [URI]}, None),
        ({}, None),
        (None, None),
    ],
)
def test_view_of_a_tool_is_a_ui_address_or_none(meta: dict[str, Any] | None, uri: str | None) -> None:
    """SEP-1865, resource discovery: `ui://` only; the flat key is deprecated and still read."""
    assert view_uri(meta) == uri


@pytest.mark.parametrize(
    ("visibility", "offered"),
    [(["model", "app"], True), (["model"], True), (["app"], False), ([], False), ("app", True), (None, True), (["model", 7], True)],
)
def test_tool_is_for_models_unless_it_says_for_whom_and_leaves_them_out(visibility: Any, offered: bool) -> None:
    """SEP-1865, visibility: the default is both; what is no list says nothing."""
    assert for_models({"ui": {"visibility": visibility}}) is offered
    assert for_models(None)
    assert for_models({"ui": {}})


def part(**members: Any) -> ResourceContents:
    return ResourceContents(**{"uri": URI, "mime_type": VIEW_TYPE, "text": PAGE, **members})


def test_view_has_the_page_and_what_it_asks_for() -> None:
    """SEP-1865, UI resource format."""
    ui = {
        "csp": {
            "connectDomains": ["https://api.example"],
            "resourceDomains": ["https://*.example"],
            "frameDomains": ["https://f.example"],
            "baseUriDomains": ["https://b.example"],
        },
        "permissions": {"microphone": {}, "camera": {}},
        "domain": "a9.example",
        "prefersBorder": False,
    }
    assert view_of([part(uri="ui://other"), part(meta={"ui": ui})], URI) == View(
        uri=URI,
        html=PAGE,
        connect=("https://api.example",),
        resources=("https://*.example",),
        frames=("https://f.example",),
        bases=("https://b.example",),
        permissions=("camera", "microphone"),
        domain="a9.example",
        border=False,
    )
    assert view_of([part(text=None, blob=base64.b64encode(PAGE.encode()).decode())], URI) == View(uri=URI, html=PAGE)


@pytest.mark.parametrize("kind", ["text/html; profile=mcp-app", 'text/html;profile="mcp-app"', "Text/HTML;Profile=mcp-app"])
def test_type_may_be_written_in_every_way_that_means_the_same(kind: str) -> None:
    """RFC 9110, 8.3.1."""
    assert view_of([part(mime_type=kind)], URI).html == PAGE


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ([], "nothing under this address"),
        ([part(uri="ui://other")], "nothing under this address"),
        ([part(mime_type="text/html")], "its type is text/html"),
        ([part(mime_type=None)], "its type is not said"),
        ([part(text=None)], "neither text nor blob"),
        ([part(text=None, blob="!")], "no text in UTF-8"),
        ([part(text=None, blob="/w==")], "no text in UTF-8"),
    ],
)
def test_what_is_no_view_is_told(contents: list[ResourceContents], said: str) -> None:
    """SEP-1865, content requirements."""
    with pytest.raises(ValueError, match=said):
        view_of(contents, URI)


def test_origin_that_would_break_out_of_a_policy_is_dropped() -> None:
    """Our choice: whoever shows the view writes these into a header."""
    evil = ["https://a.example; script-src *", "https://b.example, x", "'unsafe-eval'", "a b", "", "a\nb", 7, "https://ok.example"]
    assert view_of([part(meta={"ui": {"csp": {"connectDomains": evil, "frameDomains": "x"}, "permissions": []}})], URI) == View(
        uri=URI, html=PAGE, connect=("https://ok.example",)
    )

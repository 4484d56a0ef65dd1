"""URI templates against the examples of their standard."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.templates import expand

VALUES: dict[str, Any] = {
    "var": "value",
    "hello": "Hello World!",
    "half": "50%",
    "path": "/foo/bar",
    "base": "http://example.com/home/",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "x": 1024,
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "v": "6",
    "who": "fred",
    "dom": ["example", "com"],
}


@pytest.mark.requirement("R-RES-02")
@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("plain://a", "plain://a"),
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{x,hello,y}", "1024,Hello%20World%21,768"),
        ("?{x,empty}", "?1024,"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        ("{keys}", "semi,%3B,dot,.,comma,%2C"),
        ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{+keys*}", "semi=;,dot=.,comma=,"),
        ("{#x,hello,y}", "#1024,Hello%20World!,768"),
        ("foo{#empty}", "foo#"),
        ("foo{#undef}", "foo"),
        ("{.who,who}", ".fred.fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.empty_keys*}", "X"),
        ("{/var,empty}", "/value/"),
        ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?list}", "?list=red,green,blue"),
        ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
        ("?fixed=yes{&x,undef}", "?fixed=yes&x=1024"),
        ("{&list*}", "&list=red&list=green&list=blue"),
    ],
)
def test_template_is_expanded_as_the_standard_shows(template: str, uri: str) -> None:
    """R-RES-02: RFC 6570 section 3.2."""
    assert expand(template, VALUES) == uri


@pytest.mark.parametrize("template", ["{", "a}", "{a", "{{a}}", "{}", "{a b}", "{=a}", "{a:0}", "{a:x}", "{a**}", "{keys:3}"])
def test_template_that_is_none_is_named(template: str) -> None:
    """RFC 6570 section 2; operators that are reserved for later are none."""
    with pytest.raises(ValueError, match=r"URI template|part of it"):
        expand(template, VALUES)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_value_cannot_leave_its_place(value: str) -> None:
    """Our choice to show: what a person fills in adds no path, query or fragment."""
    uri = expand("a://b/{x}/c", {"x": value})
    assert uri.startswith("a://b/")
    assert uri.endswith("/c")
    assert not set("/?#") & set(uri[len("a://b/") : -len("/c")])

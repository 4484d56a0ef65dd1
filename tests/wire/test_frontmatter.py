"""The YAML at the head of a file: what is read, as any reader of YAML 1.2 would, and what is refused rather than guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.frontmatter import frontmatter, same


def head(yaml: str) -> dict[str, Any]:
    return frontmatter(f"---\n{yaml}\n---\n\nThe body: - with ---\n")


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("a: b", {"a": "b"}),
        ("name: pdf-processing\ndescription: Extract, fill, and assemble PDF documents", None),
        ("a: it's (so) [here]", {"a": "it's (so) [here]"}),
        ("a: 'it''s # not a comment'  # but this", {"a": "it's # not a comment"}),
        (r'a: "x\n\u00e9: \"y\""', {"a": 'x\né: "y"'}),
        ("a: http://h/x#y # z", {"a": "http://h/x#y"}),
        ("allowed-tools: Bash(git:*) Read", {"allowed-tools": "Bash(git:*) Read"}),
        (
            "a: 1\nb: -2.5\nc: true\nd: null\ne: ~\nf:\ng: 0x1F\nh: 1e3",
            {"a": 1, "b": -2.5, "c": True, "d": None, "e": None, "f": None, "g": 31, "h": 1000.0},
        ),
        ("a: yes\nb: 1.2.3\nc: '1'\nd: \"true\"\ne: 2026-01-02", {"a": "yes", "b": "1.2.3", "c": "1", "d": "true", "e": "2026-01-02"}),
        ("metadata:\n  version: 2.1.0\n  deep:\n    er: x\nb: 1", {"metadata": {"version": "2.1.0", "deep": {"er": "x"}}, "b": 1}),
        ("a:\n- x\n- y: 1\n  z: 2\n-\n  - q", {"a": ["x", {"y": 1, "z": 2}, ["q"]]}),
        ("a:\n  - x\n  # between\n\n  - 'y'\nb: c", {"a": ["x", "y"], "b": "c"}),
        (
            "a: [x, 'y, z', 1, [true], {k: v}]\nb: {c: d, 'e f': 2}\nc: []\nd: {}",
            {"a": ["x", "y, z", 1, [True], {"k": "v"}], "b": {"c": "d", "e f": 2}, "c": [], "d": {}},
        ),
        ("a: one\n  two\n  three", {"a": "one two three"}),
        ("a: >\n  one\n  two\n\n  three\nb: x", {"a": "one two\nthree\n", "b": "x"}),
        ("a: >-\n  one\n  two", {"a": "one two"}),
        ("a: |\n  one\n    two\n\n  three\nb: x", {"a": "one\n  two\n\nthree\n", "b": "x"}),
        ("a: |+\n  one\n\nb: x", {"a": "one\n\n", "b": "x"}),
        ("'a b': c\n\"d\": e", {"a b": "c", "d": "e"}),
        ("a: b\r\nc: d\r", {"a": "b", "c": "d"}),
    ],
)
def test_what_people_write_is_read_as_yaml_has_it(yaml: str, value: dict[str, Any] | None) -> None:
    """YAML 1.2.2, core schema."""
    assert head(yaml) == (value or {"name": "pdf-processing", "description": "Extract, fill, and assemble PDF documents"})


@pytest.mark.parametrize(
    "yaml",
    [
        "a: b\na: c",
        "b: {c: 1, c: 2}",
        "a: &x b",
        "a: *x",
        "a: !!python/object:os.system x",
        "<<: {a: b}",
        "a: b: c",
        "a: 'open",
        'a: "\\x41"',
        "a: [b",
        "a: [b] c",
        "a: {b}",
        "just text",
        "- a",
        "? a",
        "a:\n\tb: c",
        "a: b\n    c: d",
        "a:\n    b: c\n  d: e",
        "a: @x",
        "a: `x`",
        "a: >\n  b\n    c",
        "- - a",
        "a:\n" + "".join(" " * n + "a:\n" for n in range(1, 40)),
        "a: " + "[" * 100 + "]" * 100,
        "a: " + "x" * 70_000,
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(yaml: str) -> None:
    """Our choice: whoever compares must not take for the same what another reader takes for something else."""
    with pytest.raises(ValueError, match=r"\w"):
        head(yaml)


@pytest.mark.parametrize("text", ["", "a: b", "--- a: b", "---\na: b", "text\n---\na: b\n---\n"])
def test_file_without_a_head_is_named(text: str) -> None:
    """agentskills.io specification: it begins with ---."""
    with pytest.raises(ValueError, match="---"):
        frontmatter(text)


@given(st.text(alphabet=st.sampled_from("ab:-#'\"[]{},|>&*!% \n\t0.1~\\"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Our choice: nothing else comes out, and it ends."""
    try:
        assert isinstance(head(text), dict)
    except ValueError:
        pass


def test_values_are_the_same_by_type_and_content() -> None:
    """Python takes 1 and True for the same."""
    assert same({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]})
    for one, other in ((1, True), (0, False), ({"a": 1}, {"a": 1, "b": None}), ([1], [1, 1]), ("1", 1), ({}, []), (None, False)):
        assert not same(one, other)

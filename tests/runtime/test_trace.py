"""The wire made visible: on screen, in a file, in the log; redacted, cut, readable."""

from __future__ import annotations

import io
import json
import logging

import pytest

from dragoman.runtime.trace import all_of, file_tap, logging_tap, render, screen_tap


def hide(text: str) -> str:
    return text.replace("hunter2", "***")


def test_screen_line_has_direction_time_size_and_the_message() -> None:
    assert render("→", b'{"id":1}', 1.2345) == '→    1.234s       8 B  {"id":1}'


def test_long_message_is_cut_at_200_characters_on_screen() -> None:
    shown = render("←", b"x" * 5_000_000, 0.0).rpartition("  ")[2]
    assert shown == "x" * 200 + "…"
    assert render("←", b"x" * 200, 0.0).endswith("x" * 200)


def test_text_of_other_scripts_stays_readable() -> None:
    assert "读取 größe" in render("→", "读取 größe".encode(), 0.0)
    assert render("←", "é".encode() * 300, 0.0).endswith("é…")


def test_secret_is_redacted_before_the_cut_so_that_no_half_of_it_shows() -> None:
    shown = render("→", b"x" * 197 + b"hunter2", 0.0, hide)
    assert shown.endswith("***")
    assert "hunt" not in shown


def test_escaping_comes_after_redaction() -> None:
    assert render("→", b"\x1b[2J hunter2", 0.0, hide, lambda text: text.replace("\x1b", "\\e")).endswith("\\e[2J ***")


def test_screen_tap_writes_one_line_a_message() -> None:
    stream = io.StringIO()
    tap = screen_tap(stream, hide)
    tap("→", b'{"token":"hunter2"}')
    tap("←", b"\xff not text")
    one, two = stream.getvalue().splitlines()
    assert one.endswith('{"token":"***"}')
    assert two.startswith("←")


def test_file_tap_writes_whole_messages_as_json_lines() -> None:
    stream = io.StringIO()
    tap = file_tap(stream, hide, "files")
    tap("→", "读取 hunter2 ".encode() + b"x" * 1000)
    tap("←", bytearray(b"{}"))
    one, two = map(json.loads, stream.getvalue().splitlines())
    assert (one["dir"], one["server"], one["size"]) == ("out", "files", 1015)
    assert one["message"] == "读取 *** " + "x" * 1000
    assert "读取" in stream.getvalue()
    assert (two["dir"], two["message"]) == ("in", "{}")
    assert one["at"] <= two["at"]


def test_logging_tap_speaks_at_debug_only(caplog: pytest.LogCaptureFixture) -> None:
    tap = logging_tap("files", hide)
    caplog.set_level(logging.INFO, "dragoman.wire")
    tap("→", b"one")
    caplog.set_level(logging.DEBUG, "dragoman.wire")
    tap("→", b"two hunter2")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("dragoman.wire", logging.DEBUG)
    assert record.getMessage().endswith("two ***")


def test_several_taps_are_one_and_none_is_none() -> None:
    """The untraced path costs nothing."""
    seen: list[str] = []
    assert all_of([]) is None
    tap = all_of([lambda d, m: seen.append("a" + d), lambda d, m: seen.append("b" + d)])
    assert tap is not None
    tap("→", b"")
    assert seen == ["a→", "b→"]

"""Makes characters visible that steer a terminal, reorder text or hide in it; what may be shown is decided elsewhere.

It lives with the messages because everybody who shows one needs it, and nothing else is below all of them.  Escapes are
written as in Python: ``\\x1b``, ``\\u202e``, ``\\U000e0041``.
"""

from __future__ import annotations

import re
from typing import Final

SHOWN_CHARS: Final = 8_000
"""The most of a message that is shown: what a server said in it may be of any length."""

_C0_BUT_TAB_AND_NEWLINE: Final = "".join(chr(n) for n in range(0x20) if n not in (0x09, 0x0A)) + "\x7f"
_DELETE_INLINE: Final = (_C0_BUT_TAB_AND_NEWLINE + "\n\t").encode()
_DELETE: Final = _C0_BUT_TAB_AND_NEWLINE.encode()

#: C1, Arabic letter mark, bidi marks, embeddings, isolates, line and paragraph separators, interlinear marks, lone surrogates.
_STEERING: Final = "\\x80-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u206f\\ufff9-\\ufffb\\ud800-\\udfff"
#: Soft hyphen, joiners of nothing, fillers, zero-width space, invisible operators, byte order mark.
_ZERO_WIDTH: Final = "\\xad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u2060-\\u2065\\u3164\\ufeff\\uffa0"
_SELECTORS_AND_TAGS: Final = "\\ufe00-\\ufe0f\\U000e0000-\\U000e0fff"
#: The two joiners are part of how Persian, Hindi and emoji are written: visible only where nothing of that kind is beside them.
_WRITTEN: Final = "[^\\x00-\\xa0\\u200b-\\u200f\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff]"
_STRAY_JOINER: Final = f"(?<!{_WRITTEN})[\\u200c\\u200d]|[\\u200c\\u200d](?!{_WRITTEN})"

_HIDDEN: Final = re.compile(f"[{_ZERO_WIDTH}{_STEERING}{_SELECTORS_AND_TAGS}]|{_STRAY_JOINER}")
_TERMINAL: Final = re.compile(f"[\\x00-\\x08\\x0b-\\x1f\\x7f{_STEERING}{_ZERO_WIDTH}{_SELECTORS_AND_TAGS}]|{_STRAY_JOINER}")
_INLINE: Final = re.compile(f"[\\x00-\\x1f\\x7f{_STEERING}{_ZERO_WIDTH}{_SELECTORS_AND_TAGS}]|{_STRAY_JOINER}")
#: All joiners too: the value stays the same, so nothing that is written with them is harmed.
_JSON: Final = re.compile(f"[\\x7f\\u200c\\u200d{_STEERING}{_ZERO_WIDTH}{_SELECTORS_AND_TAGS}]")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}.get(code) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_json(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def escape_for_terminal(text: str) -> str:
    """``text`` with everything neutralised that is not plain writing; newlines and tabs stay."""
    if text.isascii():
        raw = text.encode()
        if len(raw.translate(None, _DELETE)) == len(raw):
            return text
    return _TERMINAL.sub(_visible, text)


def escape_inline(text: str) -> str:
    """As :func:`escape_for_terminal`, for a place inside a line: newlines and tabs are made visible too."""
    if text.isascii():
        raw = text.encode()
        if len(raw.translate(None, _DELETE_INLINE)) == len(raw):
            return text
    return _INLINE.sub(_visible, text)


def harmless(text: str, *, inline: bool = False) -> str:
    """``text`` escaped for a terminal (or a place inside a line) and cut at ``SHOWN_CHARS``, for what may quote a server."""
    escape = escape_inline if inline else escape_for_terminal
    shown = escape(text[:SHOWN_CHARS])
    if len(shown) <= SHOWN_CHARS >= len(text):
        return shown
    return f"{shown[:SHOWN_CHARS]}… (cut; {len(text)} characters in all)"


def escape_json(text: str) -> str:
    """JSON text with all that steers or cannot be seen as ``\\u…``, joiners too: the same value, harmless to show."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _JSON.sub(_as_json, text)


def hidden_characters(text: str) -> str | None:
    """All that hides in ``text``, as one line for a person: terminal escapes, bidi controls, tags and the like; ``None``: nothing.

    Plain control characters other than ESC are no finding: many programs print them.
    """
    escape = "a terminal escape sequence" if "\x1b" in text or "\x9b" in text else None
    if text.isascii() or _HIDDEN.search(text) is None:
        return escape
    runs = _SELECTOR_RUN.search(text) is not None
    kinds = dict.fromkeys([escape, "a run of variation selectors" if runs else None])
    for char in dict.fromkeys(match.group() for match in _HIDDEN.finditer(text)):
        if char != "\x9b":
            kinds[_named(ord(char))] = None
    found = [kind for kind in kinds if kind is not None]
    return "; ".join(found) or None


#: One selector after an emoji is how it is written; a run of them carries data.
_SELECTOR_RUN: Final = re.compile("[\\ufe00-\\ufe0f\\U000e0100-\\U000e01ef]{2}")


def _named(code: int) -> str | None:
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return None
    if 0x80 <= code <= 0x9F:
        return "C1 control characters"
    if code == 0xFEFF or code == 0xAD or 0xD800 <= code <= 0xDFFF:
        return None  # a byte order mark, a soft hyphen, an unpaired surrogate: escaped when shown, but no sign of ill will
    if code in (0x61C, 0x200E, 0x200F) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x206F:
        return "characters that reorder text (bidi controls)"
    if 0xE0000 <= code <= 0xE0FFF:
        return "tag characters, which are invisible and can spell out text"
    return "zero-width characters"

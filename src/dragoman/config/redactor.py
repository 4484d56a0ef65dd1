"""Takes secrets out of text before it is shown or stored: the values we know, and the shapes that tokens have.

It errs towards hiding too much.  It is no proof that nothing is left: a secret of unknown shape that nobody named stays.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, quote_plus

MASK: Final = "[redacted]"

#: A shorter value is not searched for: it would be found in words that have nothing to do with it.
SHORTEST: Final = 6

# Every pattern is linear: quantifiers are bounded, possessive, or the last thing in their pattern, and a run of characters is entered at
# its start only. No group is possessive: Python before 3.11.5 matches those wrongly (python/cpython#106052).

# Names whose value is a secret, sought in the text in small letters; group 1 are headers, whose value is the rest of the line.
_NAMES: Final = re.compile(
    r"(authorization|cookie)|password|passwort|passwd|passphrase|pwd|secret|credentials?"
    r"|(?:api|access|private|secret|signing|encryption|account)[_-]?key|(?<!progress)token"
)
_NAME_ANCHORS: Final = ("passw", "passphrase", "pwd", "secret", "credential", "authorization", "cookie", "key", "token")
_TEXT_BODY: Final = r'"(?:[^"\\]|\\.)*'
# The same in JSON that is text inside JSON: its quote is \" and its escapes have their backslash doubled.
_NESTED_BODY: Final = r'\\"(?:[^"\\]|\\\\(?:\\["\\]|[^"\\])|\\[^"\\])*'
_SINGLE_BODY: Final = r"'(?:[^'\\\n\"]|\\[^\"])*"
_END_OF_TEXT: Final = r'\\?"\s*+(?:[,:]\s*+(?:[\\"{\[\d-]|true|false|null)|[}\]](?:[\s,}\]\\"]|\Z)|\Z)'
_BARE_BODY: Final = r"(?:[^\s\"'\\,;&)\]}]|\\[\\/])+"
_LINE_BODY: Final = r'(?:[^\r\n"\\]|\\[\\/])+'


def _value(bare: str) -> re.Pattern[str]:
    """What follows a name: the one group that matched is the value.

    A name in JSON's quotes has a value in the same quotes, or a number or word that stays.  Behind a name without them a
    quote may be the end of a JSON text instead of the start of a value.
    """
    sign = r"\s{0,8}[:=]\s{0,8}"
    return re.compile(
        rf'"{sign}({_TEXT_BODY}|{_SINGLE_BODY})'
        rf'|\\"{sign}({_NESTED_BODY}|{_SINGLE_BODY})'
        rf"|(?:\\?')?{sign}(?!{_END_OF_TEXT})({_TEXT_BODY}|{_NESTED_BODY}|{_SINGLE_BODY})"
        rf"|{sign}(?=[^\s\"'\\,;&])({bare})",
        re.DOTALL,
    )


_VALUE: Final = _value(_BARE_BODY)
_HEADER_VALUE: Final = _value(_LINE_BODY)
_PREFIXED: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,}+"
    r"|[srp]k_(?:live|test)_[A-Za-z0-9]{16,}+"
    r"|gh[pousr]_[A-Za-z0-9]{16,}+"
    r"|github_pat_[A-Za-z0-9_]{16,}+"
    r"|glpat-[A-Za-z0-9_-]{16,}+"
    r"|npm_[A-Za-z0-9]{30,}+"
    r"|pypi-[A-Za-z0-9_-]{30,}+"
    r"|hf_[A-Za-z0-9]{30,}+"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}+"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{35}"
    r")"
)
_JWT: Final = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+\.[A-Za-z0-9_-]*+")
_BEARER: Final = re.compile(r"(\bbearer\s{1,8})[A-Za-z0-9._~+/=-]{6,}+", re.IGNORECASE)
_URL: Final = re.compile(r"(://[^\s/:@\"'\\?#]{0,128}:)[^\s/\"'\\]{1,256}(?=@)")
_PEM: Final = re.compile(r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?:[^-\"]|-(?!----))*")

# A pattern runs only where one of its anchors is in the text: looking for a word costs a hundredth of a pattern.
_SHAPES: Final = (
    (("sk-", "k_live_", "k_test_", "gh", "github_pat_", "glpat-", "npm_", "pypi-", "hf_", "xox", "AKIA", "ASIA", "AIza"), _PREFIXED),
    (("eyJ",), _JWT),
    (("://",), _URL),
    (("-----BEGIN",), _PEM),
)


class Redactor:
    """Replaces secrets by ``[redacted]``; add what is known as it becomes known, from any thread."""

    def __init__(self) -> None:
        # Replaced as a whole, never changed in place, so that a reader in another thread sees one state or the next.
        self._forms: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._adding = threading.Lock()

    def add(self, secret: str) -> None:
        """Remember a value and its JSON, URL and base64 forms; values under 6 characters are ignored."""
        forms = {form for form in _forms(secret) if len(form) >= SHORTEST}
        with self._adding:
            if forms <= set(self._forms):
                return
            # The longest first: a secret that holds another one is replaced whole.
            self._forms = tuple(sorted(forms.union(self._forms), key=lambda form: (-len(form), form)))
            self._pattern = re.compile("|".join(map(re.escape, self._forms)))

    def redact_text(self, text: str) -> str:
        """``text`` with every known secret and everything shaped like one replaced."""
        if self._pattern is not None and _has_any(text, self._forms):
            text = self._pattern.sub(MASK, text)
        small = text.replace("\u0130", "i").lower()  # the one letter that grows when made small, which would shift the places
        if _has_any(small, _NAME_ANCHORS):
            text = _mask_named(text, small)
        if "bearer" in small:
            text = _BEARER.sub(_masked, text)
        for anchors, pattern in _SHAPES:
            if _has_any(text, anchors):
                text = pattern.sub(_masked, text)
        return text


def _has_any(text: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110  # any() makes a generator, which costs more than looking: this is on the way of every call
        if word in text:
            return True
    return False


def _mask_named(text: str, small: str) -> str:
    """Mask ``name = value`` in its many spellings; the quotes stay, so that JSON stays JSON."""
    pieces: list[str] = []
    done = 0
    for name in _NAMES.finditer(small):
        if name.start() < done:
            continue
        found = (_HEADER_VALUE if name[1] else _VALUE).match(text, name.end())
        if found is None:
            continue
        value = found[found.lastindex or 0]
        if value in (MASK, MASK[:-1]):  # it was masked before; a value outside of quotes ends at a bracket
            continue
        quoted = 2 if value.startswith('\\"') else int(value[0] in "\"'")
        pieces += (text[done : found.end() - len(value) + quoted], MASK)
        done = found.end()
    return "".join((*pieces, text[done:])) if pieces else text


def _masked(match: re.Match[str]) -> str:
    return (match[match.lastindex] if match.lastindex else "") + MASK


def _forms(secret: str) -> Iterator[str]:
    """The ways a secret is written on the wire and in logs."""
    whole = secret.strip()
    if len(whole) < SHORTEST:
        return
    parts = {whole, secret}
    parts.update(line.strip() for line in whole.splitlines() if len(line.strip()) >= 16)  # of a key file, each line
    for part in parts:
        yield part
        yield json.dumps(part)[1:-1]
        yield json.dumps(part, ensure_ascii=False)[1:-1]
        yield json.dumps(json.dumps(part)[1:-1])[1:-1]  # JSON as text inside JSON
        data = part.encode("utf-8", "surrogateescape")
        yield quote(data, safe="")
        yield quote(data)
        yield quote_plus(data)
        for shift in range(3):
            yield from _base64_core(data, shift)


def _base64_core(data: bytes, shift: int) -> Iterator[str]:
    """The characters of ``data`` in base64, when it stands ``shift`` bytes into a group of three, that no neighbour changes."""
    bits = shift * 8
    first = -(-bits // 6)
    end = (bits + len(data) * 8) // 6
    core = base64.b64encode(b"\0" * shift + data)[first:end].decode()
    if len(core) >= 8:  # shorter would meet chance
        yield core
        yield core.replace("+", "-").replace("/", "_")

"""What a doctor can find: one finding, and the catalogue of breaches of the protocol. Words only; looking is done elsewhere."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

Weight = Literal["fault", "warning", "note"]
"""``fault``: something does not work. ``warning``: it works, and will not always. ``note``: worth knowing."""

Whose = Literal["the server", "a proxy or the network", "this machine", "the configuration", "nobody"]

ORDER: Final[tuple[Weight, ...]] = ("fault", "warning", "note")


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One finding.

    Attributes:
        code: A stable word for programs, e.g. ``polluted-stdout``.
        weight: How bad it is.
        whose: Whose fault it is.
        what: One sentence for a person.
        advice: What to do about it.
        evidence: What was seen: untrusted text of the server's, cut; empty where the sentence says it all.
    """

    code: str
    weight: Weight
    whose: Whose
    what: str
    advice: str
    evidence: str = ""


class Kind(NamedTuple):
    """What a kind of breach means."""

    code: str
    weight: Weight
    what: str
    advice: str


_STDOUT: Final = "print logs on stderr: stdout belongs to the protocol, one JSON message a line"

#: By the word that breaches are counted under; those that are missing here are said in their own words.
BREACHES: Final[dict[str, Kind]] = {
    "noise": Kind("polluted-stdout", "warning", "it writes lines that are no messages into the channel of messages", _STDOUT),
    "glued": Kind("polluted-stdout", "warning", "other text stands on the same line as its messages", _STDOUT),
    "bom": Kind("byte-order-mark", "warning", "a byte order mark stands before its messages", "write UTF-8 without a byte order mark"),
    "bad-utf8": Kind(
        "not-utf8",
        "warning",
        "its messages hold bytes that are not UTF-8",
        "set its output to UTF-8 (PYTHONIOENCODING=utf-8, PYTHONUTF8=1)",
    ),
    "bad-json": Kind(
        "not-json",
        "warning",
        "its messages are not quite JSON: NaN, Infinity, half of a surrogate pair",
        "write what JSON allows: null for NaN",
    ),
    "unreadable": Kind("unreadable-answer", "fault", "an answer of it cannot be read", "correct the JSON it writes"),
    "batch": Kind("batch", "warning", "it sends arrays of messages, which only revision 2025-03-26 has", "send each message by itself"),
    "oversized": Kind("too-large", "fault", "a message of it is over the limit", "page or cut the result, or raise limits.frame_bytes"),
    "id-type": Kind(
        "id-type", "warning", "it answers under an id of another type than the one asked", 'send the id back as it came: 7 is not "7"'
    ),
    "foreign-id": Kind(
        "foreign-id",
        "fault",
        "it answers under an id that nobody asked with: the real request waits for ever",
        "send back the id of the request",
    ),
    "wrong-stream": Kind(
        "wrong-stream", "fault", "an answer came on the stream of another request", "send each answer on the stream of its own request"
    ),
    "no-id": Kind("no-id", "warning", "it sends errors without an id", "put the id of the request into the error"),
    "null-id": Kind("null-id", "warning", "it sends requests with the id null", "give each request an id of its own"),
    "both": Kind("both-members", "warning", "its answers have both a result and an error", "send one of the two"),
    "empty": Kind("no-members", "fault", "its answers have neither a result nor an error", "send one of the two"),
    "bad-error": Kind("bad-error", "warning", "its errors are no error objects with code and message", "send code (a number) and message"),
    "stray-progress": Kind(
        "stray-progress",
        "note",
        "it sends progress for what was never asked, or is over",
        "send progress under the token of a request, until its answer",
    ),
    "bad-progress": Kind("bad-progress", "warning", "its progress notifications cannot be read", "progress and total are numbers"),
    "bad-cancel": Kind("bad-cancel", "warning", "its cancellations cannot be read", "name the requestId"),
    "ask": Kind(
        "asks-in-stateless-era",
        "warning",
        "it sends requests in the stateless era, where servers send none",
        "answer with input_required instead",
    ),
    "too-many-asks": Kind("too-many-asks", "fault", "it asks more at once than anybody could answer", "wait for answers"),
    "twice": Kind("id-used-twice", "warning", "it uses the id of an open request for another one", "give each request an id of its own"),
}

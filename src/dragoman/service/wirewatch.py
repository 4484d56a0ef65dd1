"""A tap on one connection that takes note of what goes over it, and says what of that is odd. It changes nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from dragoman.service.diagnosis import Diagnosis, Weight
from dragoman.service.symptoms import cut
from dragoman.wire.envelope import decode_envelope

_STORM: Final = 8
#: So many notifications, and so many for each answer, are more than anybody has use for. Progress is not counted: it was asked for.
_FLOOD: Final = 20
_PER_ANSWER: Final = 3
_LONG: Final = 1 << 20
_TALKATIVE: Final = 256 << 10
_ON_STDERR: Final = "log less: a client that does not read stderr lets the pipe fill, and the server stands still"


class Watch:
    """What went over the wire.

    Attributes:
        sent: The methods that we sent, in order, the last fifty.
        asked: What the server asked of us, by method.
        notices: Its notifications, by method.
        arrivals: When each message came and its method, the last hundred.
        longest: Bytes of its longest message.
        on_stderr: Bytes that it wrote on stderr.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.sent: list[str] = []
        self.asked: Counter[str] = Counter()
        self.notices: Counter[str] = Counter()
        self.arrivals: list[tuple[float, str]] = []
        self.longest = self.on_stderr = 0
        self._nulls: Counter[str] = Counter()
        self._clock = clock
        self._answers = 0

    def __call__(self, direction: str, message: bytes | bytearray) -> None:
        """See one message."""
        if direction == "←":
            self.longest = max(self.longest, len(message))
        try:
            envelope = decode_envelope(message)
        except (msgspec.DecodeError, RecursionError):
            return
        method = envelope.method if isinstance(envelope.method, str) else ""
        if direction == "→":
            if method:
                self.sent = [*self.sent[-49:], method]
            return
        if method and envelope.id is not msgspec.UNSET:
            self.asked[method[:100]] += 1
        elif method:
            self.notices[method[:100]] += 1
        else:
            self._answers += 1
        self.arrivals = [*self.arrivals[-99:], (self._clock(), method)]
        if envelope.error is not msgspec.UNSET and bytes(envelope.error) == b"null":
            self._nulls["error"] += 1
        elif envelope.result is not msgspec.UNSET and bytes(envelope.result) == b"null":
            self._nulls["result"] += 1
        elif envelope.result is not msgspec.UNSET and len(message) < _LONG:
            self._look_for_nulls(bytes(envelope.result))

    def stderr(self, chunk: bytes) -> None:
        """See what it writes on stderr."""
        self.on_stderr += len(chunk)

    def _look_for_nulls(self, result: bytes) -> None:
        if b"null" not in result:
            return
        try:
            value = msgspec.json.decode(result)
        except (msgspec.DecodeError, RecursionError, ValueError):
            return
        items = (
            [value, *(item for member in value.values() if isinstance(member, list) for item in member)] if isinstance(value, dict) else []
        )
        for item in items[:1000]:
            if isinstance(item, dict):
                self._nulls.update(name[:60] for name, inner in item.items() if inner is None)

    def findings(self) -> list[Diagnosis]:
        """What of it is odd."""
        found: list[Diagnosis] = []

        def add(code: str, weight: Weight, what: str, advice: str) -> None:
            whose = "nobody" if weight == "note" else "the server"
            found.append(Diagnosis(code=code, weight=weight, whose=whose, what=what, advice=advice))  # type: ignore[arg-type]

        storms = sum(count for method, count in self.notices.items() if method.endswith("list_changed"))
        others = sum(self.notices.values()) - storms
        if storms > _STORM:
            add(
                "change-storm",
                "warning",
                f"it says {storms} times in one short visit that a list changed",
                "say so once, when something changed",
            )
        others -= self.notices["notifications/progress"]
        if others > _FLOOD and others > _PER_ANSWER * self._answers:
            add("flood", "warning", f"it sends {others} notifications in one short visit", "send fewer: each costs every client time")
        if self.asked:
            shown = cut(", ".join(f"{method} ({count})" for method, count in self.asked.most_common(6)))
            add("asks", "note", f"it asks the client for: {shown}; what was not offered was refused", "offer it where you trust the server")
        if self._nulls:
            names = cut(", ".join(name for name, _ in self._nulls.most_common(8)))
            add(
                "null-members",
                "note",
                f"it writes null where a member should be left out: {names}",
                "leave them out: other clients refuse them",
            )
        if self.longest > _LONG:
            what = f"a message of it has {self.longest:,} bytes on one line or in one event"
            add("long-message", "note", what, "page or cut: some clients take no more than 64 KB at once")
        if self.on_stderr > _TALKATIVE:
            add("stderr-flood", "note", f"it wrote {self.on_stderr:,} bytes on stderr in one short visit", _ON_STDERR)
        return found

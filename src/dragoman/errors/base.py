"""What all errors have in common."""

from __future__ import annotations

from typing import ClassVar, Literal, NamedTuple

MaybeRan = Literal["no", "perhaps", "yes"]


class Problem(NamedTuple):
    """One thing wrong with a value: where (a JSON pointer, ``""`` for the root), and what was expected."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class DragomanError(Exception):
    """The base of everything this package raises on purpose.

    Attributes:
        hint: The next step for a person, one line, or ``None``.
        server: The configured name of the server concerned, or ``None``.
        retry_after_s: Not before so many seconds does it make sense to try again; ``None``: nothing is known about that.
    """

    cli_exit: ClassVar[int] = 1
    hint: str | None = None
    server: str | None = None
    retry_after_s: float | None = None

    @property
    def kind(self) -> str:
        """The class name, as used in JSON output and audit records."""
        return type(self).__name__

    @property
    def maybe_ran(self) -> MaybeRan:
        """Whether the tool may have run at the server: nothing was sent unless a subclass says otherwise."""
        return "no"

    def __str__(self) -> str:
        return _harmless(self._sentence())

    @property
    def first_line(self) -> str:
        """What it says first, at most 200 characters: for notes and records, where its hint and its details have no room."""
        return _harmless((str(self).splitlines() or [""])[0], inline=True)[:200]

    def for_model(self) -> str:
        """A hint a model can act on: what was wrong and what to do instead, without secrets or stack traces."""
        return "\n".join(part for part in (str(self), self._shown_hint(), self._to_model()) if part)

    def for_user(self) -> str:
        """The message for a person; the hint on a line of its own."""
        hint = self._shown_hint()
        return "\n".join(part for part in (str(self), f"hint: {hint}" if hint else "", self._to_user()) if part)

    def _shown_hint(self) -> str:
        return _harmless(self.hint, inline=True) if self.hint else ""

    def _to_model(self) -> str:
        """What a model should do now, besides the hint."""
        return ""

    def _to_user(self) -> str:
        """What a person should look at now, besides the hint."""
        return ""

    def _sentence(self) -> str:
        """What is said, which may quote a server: ``str()`` makes it harmless and cuts it."""
        return super().__str__()


def _harmless(text: str, *, inline: bool = False) -> str:
    try:
        from dragoman.wire.escape import harmless  # which only a failure needs
    except OSError:  # no descriptor is left to read it with, which may be the very thing to tell
        return ascii(text)[1:-1]
    return harmless(text, inline=inline)

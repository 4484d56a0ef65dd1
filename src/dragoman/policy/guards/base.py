"""The seam: what a guard is, which arguments it looks at, and how *validate* runs the guards of a tool.

A guard of your own is a class with ``name``, ``check`` and ``describe``; hand it to ``Host.from_config(guards=…)`` in a
:class:`Guarded`. It sees one value at a time, never the whole call's arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from dragoman.errors import Problem
from dragoman.policy.chain import Call

#: More values than this under one guarded argument are refused: each may cost a look-up.
MAX_VALUES: Final = 200
_ABSENT: Final = object()


class Guard(Protocol):
    """A check of one value.

    Attributes:
        name: One word, for notes and ``policy explain``.
        whole: It takes a list as one value; otherwise each item of a list is a value.
    """

    name: str
    whole: bool

    async def check(self, value: Any, call: Call) -> Any:
        """Look at one value.

        Returns:
            The value that is to be sent, often the same; or a :class:`~dragoman.errors.Problem`, which refuses the call. The
            problem's message goes to the model, so it says what would be accepted; its path counts from this value.
        """
        ...

    def describe(self) -> str:
        """What it lets through, in a few words for ``policy explain``."""
        ...


class Guarded(msgspec.Struct, frozen=True):
    """A guard and the argument it looks at.

    Attributes:
        argument: A member's name, or a JSON pointer (RFC 6901) in which ``*`` is every member or item: ``/edits/*/path``.
        exact: The tool was named, not matched by a pattern, so it must have such an argument.
    """

    guard: Guard
    argument: str
    exact: bool = True

    @property
    def path(self) -> tuple[str, ...]:
        """The argument's steps from the root."""
        if not self.argument.startswith("/"):
            return (self.argument,)
        return tuple(step.replace("~1", "/").replace("~0", "~") for step in self.argument.split("/")[1:])

    def describe(self) -> str:
        """For ``policy explain``."""
        return f"{self.guard.name} on {self.argument} ({self.guard.describe()})"


async def run(
    guards: Sequence[Guarded], arguments: dict[str, Any], call: Call, named: frozenset[str]
) -> tuple[dict[str, Any], list[Problem], list[str]]:
    """Run the guards of a tool over its arguments, in order; each sees what the one before left.

    Args:
        named: The arguments that the tool's schema names; empty where it names none.

    Returns:
        The arguments to send (a copy where something changed), what is refused, and a note for each change.
    """
    problems: list[Problem] = []
    notes: list[str] = []
    for guarded in guards:
        path = guarded.path
        if path[0] not in arguments and path[0] not in named and (guarded.exact or not named):
            # A guard that can never bite is a mistake in the configuration, and the call is not what its author believes.
            problems.append(Problem("", f"the guard {guarded.guard.name!r} looks at {guarded.argument!r}, which this tool does not have"))
            continue
        found = list(_values(arguments, path, (), whole=guarded.guard.whole))
        if len(found) > MAX_VALUES:
            problems.append(Problem(_pointer(path), f"holds {len(found)} values, at most {MAX_VALUES} are checked in one call"))
            continue
        for where, value in found:
            checked = await guarded.guard.check(value, call)
            if isinstance(checked, Problem):
                problems.append(Problem(_pointer(where) + checked.path, checked.message))
            elif checked is not value and checked != value:
                arguments = _replaced(arguments, where, checked)
                notes.append(f"{_pointer(where)}: changed by the guard {guarded.guard.name}")
    return arguments, problems, notes


def _values(value: Any, path: tuple[str, ...], at: tuple[str | int, ...], *, whole: bool) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value at a path, with its place. An absent member is no value: whether it may be absent is the schema's business."""
    if not path:
        if isinstance(value, (list, tuple)) and not whole:
            for index, item in enumerate(value):
                yield from _values(item, (), (*at, index), whole=whole)
        else:
            yield at, value
        return
    step, rest = path[0], path[1:]
    if step == "*" and isinstance(value, (dict, list, tuple)):
        steps: Iterator[tuple[str | int, Any]] = iter(value.items()) if isinstance(value, dict) else iter(enumerate(value))
        for key, item in steps:
            yield from _values(item, rest, (*at, key), whole=whole)
    elif isinstance(value, dict):
        if (item := value.get(step, _ABSENT)) is not _ABSENT:
            yield from _values(item, rest, (*at, step), whole=whole)
    elif isinstance(value, (list, tuple)) and step.isdecimal() and int(step) < len(value):
        yield from _values(value[int(step)], rest, (*at, int(step)), whole=whole)
    else:
        # Something else stands where the pointer leads through: the guard sees that, and refuses what it does not know.
        yield at, value


def _replaced(value: Any, where: tuple[str | int, ...], new: Any) -> Any:
    """A copy of the value with one place changed; nothing the caller handed in is touched."""
    if not where:
        return new
    step, rest = where[0], where[1:]
    if isinstance(value, dict):
        return {**value, step: _replaced(value[str(step)], rest, new)}
    index = int(step)
    return [*value[:index], _replaced(value[index], rest, new), *value[index + 1 :]]


def _pointer(path: Sequence[str | int]) -> str:
    from dragoman.policy.problems import pointer

    return pointer(path)

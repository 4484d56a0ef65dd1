"""Checks arguments against the tool's ``inputSchema`` and its guards on the way in, results against ``outputSchema`` on the way out.

A schema that cannot be used is set aside with a note, and the call goes through: the server checks its own arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dragoman.errors import InvalidArguments, InvalidResult, NotAllowed, Problem
from dragoman.policy.bounds import look
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.coerce import coerce
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.guards import base as guards
from dragoman.policy.ports import Redact, Resolved
from dragoman.policy.problems import describe, pointer, unknown_names
from dragoman.policy.resolve import refuse_withheld
from dragoman.policy.schemas import Checker, Schemas, SetAside, Size, measure
from dragoman.wire.escape import escape_inline
from dragoman.wire.results import ToolResult

#: Above this a result is measured before it is checked.
_LARGE_BYTES: Final = 50_000


#: Told of arguments that were refused; may raise what is to be said instead.
Refusing = Callable[[Call, InvalidArguments], None]


class Validate:
    """Bounds for all, schemas for tools only: arguments of prompts are strings by protocol, resources have none."""

    name = "validate"

    def __init__(
        self, flights: Flights, schemas: Schemas | None = None, redact: Redact | None = None, refused: Refusing | None = None
    ) -> None:
        self._flights, self._redact, self._refused = flights, redact, refused
        self._schemas = Schemas() if schemas is None else schemas

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        if (flaw := look(call.arguments).flaw) is not None:
            raise self._invalid(call, [Problem("", flaw)])
        if call.kind != "tool":
            return await call_next(call)
        flight = self._flights.of(call)
        try:
            checked = self._check_arguments(call, flight)
            if flight.found is not None and flight.found.guards:
                checked = await self._guard(checked, flight, flight.found)
        except InvalidArguments as exc:
            if self._refused is not None:
                self._refused(call, exc)
            raise
        if checked is not call and flight.found is not None and flight.found.raises:
            checked = _raised(checked, flight, flight.found)
        flight.call = checked
        outcome = await call_next(checked)
        result = outcome.result
        if call.definition is not None and isinstance(result, ToolResult):
            self._check_result(call, result, flight)
        return outcome

    def _check_arguments(self, call: Call, flight: Flight) -> Call:
        arguments = call.arguments if type(call.arguments) is dict else dict(call.arguments)
        size, problems = _as_json(arguments)
        if problems:
            raise self._invalid(call, problems)
        if arguments is not call.arguments:
            call = msgspec.structs.replace(call, arguments=arguments)
        if call.definition is None:
            return call
        checker = self._schemas.get(call.server, call.name, "in", call.definition.input_schema)
        if isinstance(checker, SetAside):
            if checker.foreign and call.from_model:
                raise _unchecked(call, checker.reason)
            flight.notes.append(f"the arguments were not checked: inputSchema set aside: {checker.reason}")
            return call
        flight.notes.extend(checker.notes)
        if not checker.can_check(*size):
            flight.notes.append("the arguments were not checked: inputSchema would take too long on a value of this depth and size")
            return call
        extras = [] if checker.extras else [name for name in arguments if name not in checker.names]
        if not extras and checker.is_valid(arguments):
            return call
        if not extras and call.from_model and (better := coerce(arguments, checker)) is not None:
            flight.notes.extend(better[1])
            return msgspec.structs.replace(call, arguments=better[0])
        raise self._invalid(call, self._problems(arguments, checker, extras))

    async def _guard(self, call: Call, flight: Flight, found: Resolved) -> Call:
        """After the schema, so that a guard sees what can be sent; before anybody is asked, so that a person sees what will be."""
        schema = call.definition.input_schema if call.definition is not None else True
        checker = self._schemas.get(call.server, call.name, "in", schema)
        named = frozenset[str]() if isinstance(checker, SetAside) else checker.names
        arguments, problems, notes = await guards.run(found.guards, dict(call.arguments), call, named)
        if problems:
            raise self._invalid(call, problems)
        flight.notes.extend(notes)
        return msgspec.structs.replace(call, arguments=arguments) if notes else call

    def _problems(self, arguments: dict[str, Any], checker: Checker, extras: list[str]) -> list[Problem]:
        problems = unknown_names(extras, checker.names)
        for problem in describe(checker.errors(arguments), checker.schema, self._redact):
            if not any(problem.path == known.path for known in problems):
                problems.append(problem)
        return problems

    def _invalid(self, call: Call, problems: list[Problem]) -> InvalidArguments:
        return InvalidArguments(
            escape_inline(call.full_name), problems, hint="correct these arguments and call the tool again", server=call.server or None
        )

    def _check_result(self, call: Call, result: ToolResult, flight: Flight) -> None:
        assert call.definition is not None
        schema = call.definition.output_schema
        try:
            _ = result.structured  # a value that Python cannot hold fails the call here, not in the caller's hands
        except ValueError as exc:
            shown = escape_inline(call.full_name)
            raise InvalidResult(f"{shown}: {exc}", path="/structuredContent", result=result, server=call.server or None) from exc
        if result.is_error or schema is None:
            return
        shown = escape_inline(call.full_name)
        if not result.has_structured:
            raise InvalidResult(
                f"{shown} promises structured content (outputSchema) and sent none",
                path="/structuredContent",
                result=result,
                server=call.server or None,
            )
        checker = self._schemas.get(call.server, call.name, "out", schema)
        if isinstance(checker, SetAside):
            flight.notes.append(f"the result was not checked: outputSchema set aside: {checker.reason}")
            return
        value = result.structured
        if not (checker.is_plain and memoryview(result.raw_json).nbytes <= _LARGE_BYTES) and not checker.can_check(*measure(value)):
            flight.notes.append("the result was not checked: outputSchema would take too long on a value of this depth and size")
            return
        flight.notes.extend(checker.notes)
        if checker.is_valid(value) or (error := checker.first_error(value)) is None:
            return
        problem = describe([error], schema, self._redact)[0]
        raise InvalidResult(
            f"the result of {shown} does not fit its outputSchema: {Problem('/structuredContent' + problem.path, problem.message)}",
            path=f"/structuredContent{pointer(error.instance_path)}",
            result=result,
            server=call.server or None,
        )

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        if found.definition is None:
            return "nothing to check"
        sides = [("arguments", "in", found.definition.input_schema), ("result", "out", found.definition.output_schema)]
        words = []
        for what, side, schema in sides:
            if schema is not None:
                checker = self._schemas.get(found.server, found.name, side, schema)
                words.append(f"{what} not checked: {checker.reason}" if isinstance(checker, SetAside) else f"{what} checked")
        words.extend(f"guard {guarded.describe()}" for guarded in found.guards)
        return ", ".join(words)


def _raised(call: Call, flight: Flight, found: Resolved) -> Call:
    """What was repaired or rewritten may be what a rule raises the tier for: it counts as it is sent, not only as it was written."""
    again = found.called_with(call.arguments)
    if again.tier == call.tier:
        return call
    flight.found = again
    flight.call = msgspec.structs.replace(call, tier=again.tier, rule=again.rule)
    refuse_withheld(again)
    return flight.call


def _unchecked(call: Call, reason: str) -> NotAllowed:
    """A guess of a model's that nothing can check is not sent. Source: MCP 2026-07-28 basic/index#ref-resolution."""
    return NotAllowed(
        f"the arguments of {escape_inline(call.full_name)} cannot be checked: "
        f"its inputSchema lies elsewhere and is never fetched ({escape_inline(reason)})",
        layer="validate",
        hint="the server has to send the whole schema, with $defs; a person may call it by hand: dragoman call",
        server=call.server or None,
    )


def _as_json(arguments: dict[str, Any]) -> tuple[Size, list[Problem]]:
    """The size of the arguments, and what in them no JSON text can hold (or only as something else)."""
    problems: list[Problem] = []
    nodes = depth = 0  # both are bounded already
    level: list[tuple[tuple[str | int, ...], Any]] = [((), arguments)]
    while level:
        depth += 1
        nodes += len(level)
        following: list[tuple[tuple[str | int, ...], Any]] = []
        for path, value in level:
            kind = type(value)
            if kind is str:
                if not value.isascii() and (lone := _lone_surrogate(value)):
                    problems.append(Problem(pointer(path), lone))
            elif kind is int or kind is bool or value is None:
                pass
            elif kind is dict:
                for key, item in value.items():
                    if type(key) is not str or (not key.isascii() and _lone_surrogate(key)):
                        problems.append(Problem(pointer(path), f"member names must be valid text, got {key!r:.80}"))
                    else:
                        following.append(((*path, key), item))
            elif kind is list or kind is tuple:
                following.extend(((*path, index), item) for index, item in enumerate(value))
            elif kind is float:
                if not math.isfinite(value):
                    problems.append(Problem(pointer(path), f"JSON has no {value}"))
            else:
                problems.append(Problem(pointer(path), f"expected a JSON value, got a {kind.__name__}"))
        level = following
    return Size(nodes, depth), problems[:20]


def _lone_surrogate(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "expected valid Unicode text, got half of a surrogate pair"
    return None

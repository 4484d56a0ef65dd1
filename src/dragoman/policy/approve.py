"""Asks a person, or whoever stands in for one, before a call that is hard to take back; the default is no.

A yes becomes a grant that is bound to the call's id, its exact arguments and the tool as pinned; *dispatch* takes it.
"""

from __future__ import annotations

import asyncio
import inspect

from dragoman.clock import Clock
from dragoman.errors import ApprovalDenied, ApprovalExpired
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.digests import arguments_sha256, definition_sha256
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.ports import Approver, InVain, Resolved
from dragoman.policy.questions import Decision, Grant, Question, Step
from dragoman.policy.words import lines, title
from dragoman.wire.escape import escape_inline
from dragoman.wire.tier import Tier


class Approve:
    """L0 and L1 run, L2 is asked about once, L3 twice: the arguments, then the intent. Ad hoc calls are the caller's own.

    Args:
        approver: ``None``: nobody is there, so the answer is no.
        timeout_s: For each question.
        in_vain: Checked before anybody is bothered.
    """

    name = "approve"

    def __init__(
        self, approver: Approver | None, clock: Clock, flights: Flights, *, timeout_s: float = 300.0, in_vain: InVain | None = None
    ) -> None:
        self._approver, self._clock, self._flights = approver, clock, flights
        self._timeout_s, self._in_vain = timeout_s, in_vain

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        tier = call.tier
        if tier == "L0" or tier == "L1" or (call.adhoc and tier is None):
            return await call_next(call)
        flight = self._flights.of(call)
        flight.grant = await self._ask(call, "L2" if tier is None else tier, flight)
        try:
            return await call_next(call)
        finally:
            flight.grant = None

    async def _ask(self, call: Call, tier: Tier, flight: Flight) -> Grant:
        if self._in_vain is not None and (error := self._in_vain(call)) is not None:
            raise error
        what = escape_inline(call.full_name)
        if self._approver is None:
            raise ApprovalDenied(
                f"{what} is {tier} and needs a person's approval; nobody was there to give it",
                layer=self.name,
                hint="run it on a terminal, agree beforehand with --yes (L2 only), or hand an approver to the host",
                server=call.server,
            )
        question = self._question(call, tier, flight, "arguments")
        decision = await self._decide(self._approver, question, flight, what)
        if tier == "L3":
            flight.detail["approval_of_arguments"] = flight.detail["approval"]
            decision = await self._decide(self._approver, self._question(call, tier, flight, "intent"), flight, what)
        flight.notes.append(f"approved by {escape_inline(decision.by)} ({escape_inline(decision.how)})")
        return Grant(
            call=call.id,
            server=call.server,
            tool=call.name,
            tier=tier,
            arguments_sha256=question.arguments_sha256,
            definition_sha256=question.definition_sha256,
            by=decision.by,
            how=decision.how,
        )

    def _question(self, call: Call, tier: Tier, flight: Flight, step: Step) -> Question:
        now = self._clock.now()
        sentence = title(call, flight.found.say if flight.found is not None else None)
        if step == "intent":
            sentence = f"This cannot be undone. Do you really want it? {sentence}"
        return Question(
            call=call.id,
            server=call.server,
            tool=call.name,
            principal=call.principal,
            turn=call.turn,
            tier=tier,
            step=step,
            title=sentence,
            lines=lines(call.arguments),
            notes=tuple(escape_inline(note) for note in flight.notes),
            arguments=call.arguments,
            arguments_sha256=arguments_sha256(call.arguments),
            definition_sha256=definition_sha256(call.definition),
            asked_at=now,
            expires_at=now + self._timeout_s,
        )

    async def _decide(self, approver: Approver, question: Question, flight: Flight, what: str) -> Decision:
        """The decision if it is a yes; everything else raises."""
        asked = self._clock.monotonic()
        task = asyncio.ensure_future(_answer(approver, question))
        try:
            # Not wait_for: an approver that ignores its cancellation must not hold the call.
            await asyncio.wait({task}, timeout=self._timeout_s)
        finally:
            if not task.done():
                task.cancel()
                task.add_done_callback(_look_away)
        waited_ms = round((self._clock.monotonic() - asked) * 1000)
        flight.detail["approval"] = {"step": question.step, "waited_ms": waited_ms, "arguments_sha256": question.arguments_sha256}
        if not task.done():
            raise ApprovalExpired(
                f"nobody approved {what} within {self._timeout_s:g} s",
                layer=self.name,
                hint="call it again when somebody is there to answer, or raise policy.approval_timeout_s",
                server=question.server,
            )
        try:
            decision = task.result()
        except asyncio.CancelledError:
            decision = Decision(verdict="deny", by="nobody", how="failed", reason="the question was withdrawn")
        except Exception as exc:
            decision = Decision(verdict="deny", by="nobody", how="failed", reason=f"the approver failed: {type(exc).__name__}: {exc}")
        flight.detail["approval"] |= {"by": decision.by, "how": decision.how, "verdict": decision.verdict}
        if decision.reason:
            flight.detail["approval"]["reason"] = decision.reason
        if decision.verdict != "allow":
            reason = f": {escape_inline(decision.reason)}" if decision.reason else ""
            raise ApprovalDenied(
                f"{what} was not approved{reason}",
                layer=self.name,
                hint=None
                if decision.how not in ("nobody", "failed", "--yes")
                else "run it on a terminal, agree beforehand with --yes (L2 only), or hand an approver to the host",
                server=question.server,
            )
        return decision

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        if found.tier in ("L0", "L1"):
            return f"{found.tier} runs without asking"
        who = "nobody is there: denied" if self._approver is None else "a person is asked"
        return f"{found.tier}: {who}{', twice' if found.tier == 'L3' and self._approver else ''}, {self._timeout_s:g} s to answer"


async def _answer(approver: Approver, question: Question) -> Decision:
    """What the approver says, which is a no unless it is a whole :class:`Decision`: programs write their own approvers."""
    said: object = approver.decide(question)
    if inspect.isawaitable(said):
        said = await said
    if not isinstance(said, Decision):
        wrong = f"the approver returned a {type(said).__name__} and no Decision"
    elif said.verdict not in ("allow", "deny"):
        wrong = "the approver's verdict is neither allow nor deny"
    elif not all(isinstance(field, str) for field in (said.by, said.how, said.reason)):
        wrong = "by, how and reason of the approver's Decision are not all text"
    else:
        return said
    return Decision(verdict="deny", by="nobody", how="failed", reason=wrong)


def _look_away(task: asyncio.Future[Decision]) -> None:
    """Take the result of a question nobody waits for any more, so that its failure is not reported as forgotten."""
    if not task.cancelled():
        task.exception()

"""``dragoman demo``: the main job, live, on two servers that ship with the package. Offline, nothing to configure."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

import click

from dragoman.cli import output
from dragoman.cli.fit import fold
from dragoman.cli.options import Settings, agreeing, common
from dragoman.cli.terminal import approver_for
from dragoman.errors import ApprovalDenied, CallFailed, ConnectionLost, InvalidArguments
from dragoman.service import audit
from dragoman.service.assemble import Host, Outcome
from dragoman.service.showcase import PRINCIPAL, demo_context, demo_host

WIDTH = 14  # of the words on the left


@click.command()
@agreeing
@common
def demo(settings: Settings) -> int:
    """The main job, live, on two servers that ship with Dragoman: connect, read, repair, approve, survive, write down.

    Offline, nothing to configure. With --yes the risky call is approved by you; else you are asked. With no terminal it is denied. The
    audit of it is in your state folder, marked as the demo's; no list of your servers shows the demo's.
    """
    settings.__dict__["context"] = demo_context(settings.context)
    stage = Stage(shows=not settings.json)
    settings.run(_play(settings, stage))
    settings.run(_audit(settings, stage))
    if settings.json:
        output.emit_json({"ok": not stage.wrong, **stage.found, "unexpected": stage.wrong})
    elif stage.wrong:
        output.error(f"{len(stage.wrong)} of the scenes did not go as they should", "; ".join(stage.wrong))
    return int(bool(stage.wrong))


async def _play(settings: Settings, stage: Stage) -> None:
    async with demo_host(settings.context, approver_for(settings), tap_for=settings.tracing.tap) as host:
        await show(host, stage)


async def _audit(settings: Settings, stage: Stage) -> None:
    stage.heading("All of it was written down")
    records = (await audit.tail(settings.context, 100, turn=stage.turn)).records
    for record in records:
        if record.event == "asked":
            continue
        name = f"{record.server}.{record.tool}" if record.server else record.tool or ""
        reason = record.detail.get("message") or record.detail.get("error") or ""
        what = f"{record.event} {record.status or ''}".strip()
        if record.detail.get("by"):
            reason = f"approved by {record.detail['by']}, {record.detail.get('how')}"
        at = time.strftime("%H:%M:%S", time.localtime(record.at))
        stage.say(f"{at}  {what:<16} {record.tier or '':<3} {name}  {_first_line(reason)}".rstrip())
    proof = await audit.verify(settings.context)
    stage.found["audit"] = {"path": proof.path, "turn": stage.turn, "records": len(records), "verified": proof.ok}
    stage.expect(proof.ok, "the audit should verify")
    stage.outcome("verified", "green", f"{len(records)} records of this demo, every chain whole")
    stage.outcome("written to", "green", f"{proof.path}, for the principal demo: none of your servers is touched")
    stage.say(f"see also:  dragoman audit tail --turn {stage.turn} | dragoman audit verify | dragoman add NAME -- CMD …")


def _first_line(text: object) -> str:
    line = str(text).splitlines()[0] if text else ""
    return line if len(line) <= 70 else line[:69] + "…"


class Stage:
    """Prints the steps, keeps what was found for ``--json``, and counts what did not go as it should.

    Args:
        shows: Whether anything is printed.

    Attributes:
        turn: Of all calls of this run.
        found: ``servers``, ``tools``, ``calls``, ``audit``: the members of the JSON.
    """

    def __init__(self, *, shows: bool = True) -> None:
        self.turn = f"demo-{secrets.token_hex(4)}"
        self.found: dict[str, Any] = {"servers": [], "tools": [], "calls": []}
        self.wrong: list[str] = []
        self._shows = shows
        self._step = 0

    def heading(self, text: str) -> None:
        self._step += 1
        self._print("", "")
        self._print(f"{self._step}. {text}", "", bold=True)

    def say(self, text: str) -> None:
        for line in text.splitlines():
            self._print("", f"   {line}")

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        self._row("model calls", "cyan", f"{name} {json.dumps(arguments, ensure_ascii=False)}")

    def outcome(self, word: str, colour: str, text: str) -> None:
        first, *more = text.splitlines() or [""]
        self._row(word, colour, first)
        for line in more:
            self._row("", colour, line)

    def expect(self, right: bool, what: str) -> None:
        if not right:
            self.wrong.append(what)
            self.outcome("unexpected", "red", what)

    def _row(self, word: str, colour: str, text: str) -> None:
        self._print(f"   {word:<{WIDTH}}", f"  {text}", hang=" " * (WIDTH + 2) if word else "  ", fg=colour)

    def _print(self, lead: str, text: str, hang: str = "   ", **style: Any) -> None:
        """A line with its beginning styled, folded where a terminal is narrower."""
        if self._shows:
            folded = fold(lead + text, output.terminal_width(), hang=hang)
            if not text:  # a heading
                output.data(output.styled(folded, **style) if folded else "")
            elif lead and folded.startswith(lead):
                output.data(output.styled(lead, **style) + folded[len(lead) :])
            else:
                output.data(folded)


async def show(host: Host, stage: Stage) -> None:
    """The scenes, in order, on an open host."""
    _connections(host, stage)
    await _tools(host, stage)
    await _read(host, stage)
    await _bad_argument(host, stage)
    await _approval(host, stage)
    await _crash(host, stage)
    await _injection(host, stage)


def _connections(host: Host, stage: Stage) -> None:
    stage.heading("Connecting to two servers, each in its own dialect")
    for name, slot in host.slots.items():
        client = slot.client
        if client is None:
            stage.expect(False, f"{name} did not start: {slot.error}")
            continue
        server = client.server
        stage.found["servers"].append(
            {"name": name, "era": server.era, "revision": server.revision, "server": {"name": server.name, "version": server.version}}
        )
        how = "handshake" if server.era == "legacy" else "stateless, no handshake"
        stage.outcome(
            name, "green", f"{server.era} era, revision {server.revision} ({how}); it calls itself {server.name} {server.version}"
        )


async def _tools(host: Host, stage: Stage) -> None:
    stage.heading("Tools found; both servers have one called 'search', so each gets a name of its own")
    tools = await host.tools()
    stage.found["tools"] = [{"name": tool.full_name, "model_name": tool.model_name, "tier": tool.tier} for tool in tools]
    by_tier: dict[str, list[str]] = {}
    for tool in tools:
        by_tier.setdefault(tool.tier, []).append(tool.full_name)
    means = {"L0": "read, runs", "L1": "write, runs and is in the log", "L2": "risky, a person approves each call"}
    for tier in sorted(by_tier):
        names = by_tier[tier]
        more = f" … {len(names) - 6} more" if len(names) > 6 else ""
        stage.outcome(tier, "yellow" if tier == "L2" else "green", f"{means.get(tier, '')}: {', '.join(names[:6])}{more}")
    searches = [tool for tool in tools if tool.name == "search"]
    stage.expect(len(searches) == 2 and len({tool.model_name for tool in searches}) == 2, "the two search tools need two names")
    stage.say("for models:  " + "  and  ".join(tool.model_name for tool in searches))


async def _read(host: Host, stage: Stage) -> None:
    stage.heading("A read runs at once")
    outcome = await _call(host, stage, "harbour__search", {"text": "berth 2"})
    stage.expect(outcome.ok, "the read should work")
    stage.outcome("result", "green", outcome.for_user())


async def _bad_argument(host: Host, stage: Stage) -> None:
    stage.heading("A bad argument is refused before anything is sent; the hint goes back to the model, which repairs its call")
    outcome = await _call(host, stage, "harbour__book_berth", {"ship": "Petrel", "berth": "nord", "night": 2})
    stage.expect(isinstance(outcome.error, InvalidArguments), "the bad argument should be refused")
    stage.outcome("hint", "yellow", outcome.hint or "")
    outcome = await _call(host, stage, "harbour__book_berth", {"ship": "Petrel", "berth": "north", "nights": 2})
    stage.expect(outcome.ok, "the repaired call should work")
    stage.outcome("result", "green", outcome.for_user())


async def _approval(host: Host, stage: Stage) -> None:
    stage.heading("A risky call asks a person, in words")
    outcome = await _call(host, stage, "harbour__delete_notes", {"ids": ["n1", "n3"]})
    if isinstance(outcome.error, ApprovalDenied):
        stage.outcome("denied", "yellow", outcome.for_user())
    elif outcome.ok:
        stage.outcome("approved", "green", "; ".join(outcome.notes))
        stage.outcome("result", "green", outcome.for_user())
    else:
        stage.expect(False, f"the risky call should be approved or denied: {outcome.for_user()}")


async def _crash(host: Host, stage: Stage) -> None:
    stage.heading("A server that crashes in the middle of a call: an error with a name, and the other server goes on")
    outcome = await _call(host, stage, "harbour__sink_ship", {})
    error = outcome.error
    stage.expect(isinstance(error, ConnectionLost), "the crash should be a ConnectionLost")
    if isinstance(error, CallFailed):
        stage.outcome(error.kind, "yellow", f"{error}\nmay it have run? {error.maybe_ran}")
    outcome = await _call(host, stage, "bazaar__price", {"ware": "lamp"})
    stage.expect(outcome.ok, "the other server should go on")
    stage.outcome("result", "green", outcome.for_user())


async def _injection(host: Host, stage: Stage) -> None:
    stage.heading("A tool output that gives orders is data: labelled for the model, its control characters made visible")
    outcome = await _call(host, stage, "harbour__read_bottle", {})
    stage.expect(outcome.ok and "untrusted" in outcome.labels, "the output should be labelled")
    stage.say("(harbour was started again for this call)")
    stage.outcome("for model", "yellow", outcome.for_model())


async def _call(host: Host, stage: Stage, name: str, arguments: dict[str, Any]) -> Outcome:
    stage.call(name, arguments)
    outcome = await host.call(name, arguments, principal=PRINCIPAL, turn=stage.turn)
    stage.found["calls"].append(
        {
            "tool": name,
            "arguments": arguments,
            "ok": outcome.ok,
            "error": outcome.error.kind if outcome.error is not None else None,
            "message": outcome.for_user() if outcome.error is not None else None,
            "text": outcome.result.text if outcome.result is not None else None,
            "labels": sorted(outcome.labels),
            "findings": [finding.message for finding in outcome.findings],
            "notes": list(outcome.notes),
        }
    )
    return outcome

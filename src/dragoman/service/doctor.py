"""The examination of one server: connect, look at everything it lists, try what it is told to try, leave; and say what is wrong.

It calls no tool unless it is told which: a doctor that deletes files is none. Every step has a deadline, and one step's trouble does
not end the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman.errors import ConnectionLost, DragomanError, ServerError
from dragoman.runtime.client import Client
from dragoman.service.diagnosis import ORDER, Diagnosis, Whose
from dragoman.service.symptoms import cut, of_breaches, of_call, of_opening, of_tools
from dragoman.service.wirewatch import Watch
from dragoman.transports import proctable
from dragoman.wire.envelope import METHOD_NOT_FOUND
from dragoman.wire.listing import Tool
from dragoman.wire.revisions import LEGACY, MODERN

STEP_S: Final = 10.0
_PINGS: Final = 6
_BUFFERED_S: Final = 0.5
_SLOW_EXIT_MS: Final = 1500.0

Arguments = Callable[[Any], dict[str, Any]]
"""Makes the arguments of a call from the tool's schema."""


class Checkup(msgspec.Struct, kw_only=True):
    """What an examination found; its members are its ``--json``.

    Attributes:
        found: Worst first.
        tried: The steps, in words, in order, with how each went.
        healthy: No fault and no warning.
    """

    target: str
    era: str | None = None
    revision: str | None = None
    server: dict[str, str] | None = None
    tools: int = 0
    found: list[Diagnosis] = []
    tried: list[dict[str, Any]] = []
    healthy: bool = True


class Doctor:
    """One examination of one server.

    Args:
        make_client: Makes a fresh client; gets ``on_wire`` and ``label``.
        target: What to call it.
        command: Its command, empty for a URL.
        calls: Tools to try, each with what makes its arguments from its schema.
        look: More to look at where the target is a URL, at the end: findings, and the proxy before it or ``""``.
    """

    def __init__(
        self,
        make_client: Callable[..., Client],
        target: str,
        *,
        command: Sequence[str] = (),
        calls: Sequence[tuple[str, Arguments]] = (),
        look: Callable[[], Any] | None = None,
        step_s: float = STEP_S,
    ) -> None:
        self._make, self._command, self._calls, self._look = make_client, command, calls, look
        self._step_s = step_s
        self._watch = Watch()
        self._proxy = ""
        self.checkup = Checkup(target=target)

    async def examine(self) -> Checkup:
        """Everything, in order; never raises for what the server does."""
        client = self._make(on_wire=self._watch, stderr=self._watch.stderr) if self._command else self._make(on_wire=self._watch)
        connected = False
        try:
            connected = await self._open(client)
            if connected:
                tools = await self._lists(client)
                await self._pings(client)
                await self._try(client, tools)
        finally:
            await self._close(client)
        self.checkup.found += of_breaches(client.violations, client.first_violations, connected=connected, on_http=not self._command)
        self.checkup.found += self._watch.findings()
        if client.resumptions:
            self._note("resumed-streams", f"{client.resumptions} times it ended a stream early, to be resumed", "nothing: it was resumed")
        if self._look is not None:  # at the end: one stream too many would take the answers of some old servers
            found, self._proxy = await self._look()
            self.checkup.found += found
            self._blame_the_proxy()
        self.checkup.found = _sorted(self.checkup.found)
        self.checkup.healthy = not any(one.weight != "note" for one in self.checkup.found)
        return self.checkup

    # --- the steps ----------------------------------------------------------------------------------------------

    async def _step(self, what: str, work: Any) -> tuple[Any, DragomanError | None]:
        began = time.monotonic()
        error: DragomanError | None = None
        value = None
        try:
            value = await work
        except DragomanError as exc:
            error = exc
        ms = round((time.monotonic() - began) * 1000, 1)
        self.checkup.tried.append({"step": what, "ok": error is None, "ms": ms})
        return value, error

    async def _open(self, client: Client) -> bool:
        _, error = await self._step("connect", client.open())
        if error is not None:
            program = os.path.basename(self._command[0]) if self._command else ""
            self.checkup.found.append(of_opening(error, program=program, sent=self._watch.sent))
            return False
        server = client.server
        self.checkup.era, self.checkup.revision = server.era, server.revision
        self.checkup.server = {"name": server.name, "version": server.version}
        if server.revision not in (MODERN[0], LEGACY[0]):
            self._note(
                "older-revision", f"the newest revision it speaks is {server.revision}", "upgrade it when you can; nothing is wrong with it"
            )
        if type(client.transport).__name__ == "SseTransport":
            what = "it is reached by HTTP+SSE of 2024-11-05, which is deprecated and cannot resume"
            self._note("old-transport", what, "ask for its Streamable HTTP endpoint, often the same URL with /mcp")
        if client.died_of_probe:
            what = "it ends when its first message is not initialize; it was started again, the old way"
            self._note("dies-on-probe", what, "answer unknown requests with -32601")
        return True

    async def _lists(self, client: Client) -> list[Tool]:
        tools: list[Tool] = []
        offers = client.server.capabilities
        if "tools" in offers:
            listed, error = await self._step("list tools", client.list_tools(timeout_s=self._step_s, cache=False))
            if error is not None:
                self.checkup.found.append(of_call("tools/list", error, on_http=not self._command))
            else:
                tools = listed
                self.checkup.found += of_tools(tools, client.problems)
                if not tools:
                    self._note("no-tools", "it offers tools and lists none", "does it need a setting or a login first?")
        for name, ask in (("resources", client.list_resources), ("prompts", client.list_prompts)):
            if name in offers:
                _, error = await self._step(f"list {name}", ask(timeout_s=self._step_s))
                if error is not None:
                    self.checkup.found.append(of_call(f"{name}/list", error, on_http=not self._command))
        self.checkup.tools = len(tools)
        return tools

    async def _pings(self, client: Client) -> None:
        """Several: behind a load balancer without memory some arrive at an instance that knows nothing of us."""
        failed: list[DragomanError] = []
        began = time.monotonic()
        for _ in range(_PINGS if not self._command else 1):
            try:
                await client.ping(timeout_s=self._step_s)
            except DragomanError as exc:
                failed.append(exc)
        self.checkup.tried.append({"step": "ping", "ok": not failed, "ms": round((time.monotonic() - began) * 1000, 1)})
        if not failed:
            return
        if all(isinstance(error, ServerError) and error.code == METHOD_NOT_FOUND for error in failed):
            what = "it does not know ping, which every server has to answer; that it lives can only be guessed"
            self.checkup.found.append(
                Diagnosis(code="no-ping", weight="warning", whose="the server", what=what, advice="answer ping with an empty result")
            )
            return
        if len(failed) < _PINGS and not self._command:
            what = f"{len(failed)} of {_PINGS} pings fail, the others work: behind a load balancer some instances do not know the session"
            advice = "sticky sessions, or state that all instances share"
            evidence = cut(str(failed[0]))
            self.checkup.found.append(
                Diagnosis(code="load-balancer", weight="fault", whose="a proxy or the network", what=what, advice=advice, evidence=evidence)
            )
        else:
            self.checkup.found.append(of_call("ping", failed[0], on_http=not self._command))

    async def _try(self, client: Client, tools: Sequence[Tool]) -> None:
        known = {tool.name: tool for tool in tools}
        if not self._calls and tools:
            self.checkup.tried.append({"step": "call tools", "ok": None, "ms": 0.0})
        for name, arguments in self._calls:
            tool = known.get(name)
            schema = tool.input_schema if tool is not None else {}
            began = time.monotonic()
            first = len(self._watch.arrivals)
            call = client.call_tool(name, arguments(schema), timeout_s=self._step_s, on_progress=lambda _: None, force=True)
            result, error = await self._step(f"call {name}", call)
            if error is not None:
                self.checkup.found.append(of_call(name, error, on_http=not self._command))
                if isinstance(error, ConnectionLost) and not client.is_open:
                    return
                continue
            for flaw in result.problems:
                what = f"a part of the result of {cut(name, 80)} is broken: {cut(str(flaw))}"
                self.checkup.found.append(
                    Diagnosis(
                        code="result-part", weight="warning", whose="the server", what=what, advice="correct it; the rest can be used"
                    )
                )
            if tool is not None and (misfit := _misfit(tool, result)) is not None:
                self.checkup.found.append(misfit)
            self._buffered(name, began, first)

    def _buffered(self, name: str, began: float, first: int) -> None:
        """Progress that all comes at the end has been held back on its way."""
        took = time.monotonic() - began
        progress = [at for at, method in self._watch.arrivals[first:] if method == "notifications/progress"]
        if not self._command and took > _BUFFERED_S and len(progress) > 1 and progress[0] - began > 0.9 * took:
            what = (
                f"{len(progress)} progress notifications of {cut(name, 80)} came all at once with the answer: something buffers the stream"
            )
            advice = "switch buffering off: X-Accel-Buffering: no, proxy_buffering off, no compression of event streams"
            self.checkup.found.append(
                Diagnosis(
                    code="buffered-stream",
                    weight="warning",
                    whose="a proxy or the network",
                    what=what,
                    advice=advice,
                    evidence=cut(self._proxy),
                )
            )

    async def _close(self, client: Client) -> None:
        group = client.pid
        began = time.monotonic()
        await client.close()
        ms = round((time.monotonic() - began) * 1000, 1)
        self.checkup.tried.append({"step": "close", "ok": True, "ms": ms})
        if group is None:
            return
        if ms > _SLOW_EXIT_MS:
            self._note(
                "slow-exit", f"it did not end when its stdin was closed; it took {ms:.0f} ms and signals", "end at end of file on stdin"
            )
        if left := _members(group):
            what = f"{len(left)} processes of it are left after the end: {cut(', '.join(left[:4]))}"
            self.checkup.found.append(
                Diagnosis(
                    code="left-processes",
                    weight="fault",
                    whose="the server",
                    what=what,
                    advice="end them by hand; end children with their parent",
                )
            )

    def _blame_the_proxy(self) -> None:
        """Somebody in between is the likelier one to cut and to hold back."""
        if not self._proxy:
            return
        for at, one in enumerate(self.checkup.found):
            if one.code in ("stream-cut", "buffered-stream"):
                whose: Whose = "a proxy or the network"
                self.checkup.found[at] = msgspec.structs.replace(
                    one, whose=whose, what=f"{one.what} (there is a proxy: {cut(self._proxy, 80)})"
                )

    def _note(self, code: str, what: str, advice: str) -> None:
        self.checkup.found.append(Diagnosis(code=code, weight="note", whose="nobody", what=what, advice=advice))


def _misfit(tool: Tool, result: Any) -> Diagnosis | None:
    from dragoman.policy.schemas import SetAside, make

    if tool.output_schema is None or result.is_error:
        return None
    what = ""
    try:
        if not result.has_structured:
            what = "promises structured content and sends none"
        else:
            checker = make(tool.output_schema)
            if not isinstance(checker, SetAside) and not checker.is_valid(result.structured):
                error = checker.first_error(result.structured)
                what = f"sends structured content that does not fit: {cut(error.message) if error is not None else ''}"
    except (DragomanError, ValueError) as exc:
        what = f"sends structured content that cannot be read: {cut(str(exc))}"
    if not what:
        return None
    return Diagnosis(
        code="output-schema",
        weight="fault",
        whose="the server",
        what=f"{cut(tool.name, 80)} has an outputSchema and {what}",
        advice="make the results fit the schema, or the schema the results",
    )


def _members(pgid: int) -> list[str]:
    """Command lines of what lives in a process group."""
    found = []
    for row in proctable.rows():
        if row.group == pgid and row.lives:
            try:
                words = Path(f"/proc/{row.pid}/cmdline").read_bytes()
            except OSError:  # it has gone meanwhile
                continue
            found.append(words.replace(b"\0", b" ").decode("utf-8", "replace").strip()[:80])
    return found


def _sorted(found: Sequence[Diagnosis]) -> list[Diagnosis]:
    unique: dict[tuple[str, str], Diagnosis] = {}
    for one in found:
        unique.setdefault((one.code, one.what), one)
    return sorted(unique.values(), key=lambda one: ORDER.index(one.weight))

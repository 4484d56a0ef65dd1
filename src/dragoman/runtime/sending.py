"""The end of the chain: a call that was allowed is handed to the client of its server. Hop 3 of a call begins here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from dragoman.errors import AuthRequired, CallTimeout, DragomanError, Refused, ToolChanged, UnknownTool
from dragoman.policy.chain import Call, Outcome, Result, Spent
from dragoman.policy.ports import Redact, Registry
from dragoman.runtime.client import Client
from dragoman.runtime.slots import Slot
from dragoman.wire.escape import escape_inline


class Sending:
    """Sends calls.

    Args:
        slots: The servers by name, as they are at each moment.
        registry: What they offer.
        redact: Takes secrets out of their errors.
    """

    def __init__(self, slots: Mapping[str, Slot], registry: Registry, redact: Redact | None) -> None:
        self._slots, self._registry, self._redact = slots, registry, redact

    async def __call__(self, call: Call) -> Outcome:
        """The result.

        Raises:
            DragomanError: There is none; secrets are taken out of its words.
        """
        slot = self._slots.get(call.server)
        if slot is None:
            raise removed(call.server)
        try:
            began = time.monotonic()
            outcome = await self._send(call, slot)
            slot.gauge.took(time.monotonic() - began)
            return outcome
        except DragomanError as exc:
            if isinstance(exc, AuthRequired):
                slot.refused(exc)
            if not isinstance(exc, Refused):
                slot.gauge.failed()
            clean(exc, self._redact)
            raise

    async def _send(self, call: Call, slot: Slot) -> Outcome:
        timeout_s = call.timeout_s if call.timeout_s is not None else slot.spec.timeout_s
        client = slot.client
        if client is None or not client.is_open:
            client, timeout_s = await _started(slot, timeout_s)
        if call.tier == "L2" or call.tier == "L3":
            self._refuse_if_changed(call)
        result: Result
        options: Any = {
            "timeout_s": timeout_s,
            "max_timeout_s": call.max_timeout_s,
            "max_bytes": call.max_bytes if call.max_bytes is not None else slot.spec.result_bytes,
            "on_progress": call.on_progress,
        }
        if call.kind == "tool":
            result = await client.call_tool(call.name, call.arguments, **options)
        elif call.kind == "resource":
            result = await client.read_resource(call.name, **options)
        else:
            result = await client.get_prompt(call.name, call.arguments, **options)
        return Outcome(call=call, result=result, spent=Spent(result_bytes=len(memoryview(result.raw_json))))

    def _refuse_if_changed(self, call: Call) -> None:
        """What a person approved must still be what the server offers: it may have been listed anew while they thought."""
        found = self._registry.find("tool", call.server, call.name)
        offered = found.definition if found is not None else None
        if offered is not call.definition and offered != call.definition:
            what = "is no longer offered" if offered is None else "was changed by its server"
            raise ToolChanged(
                f"{escape_inline(call.full_name)} {what} after it was approved; nothing was sent",
                layer="dispatch",
                hint="look at the tool anew, and make a new call",
                server=call.server,
            )


def removed(server: str) -> UnknownTool:
    """The error of a call whose server is gone."""
    return UnknownTool(f"the server {server} was removed; nothing was sent", layer="dispatch", server=server)


def clean(exc: DragomanError, redact: Redact | None) -> None:
    """Take secrets out of an error, in place: servers put what they were given into their last words."""
    if redact is None:
        return
    for name, value in vars(exc).items():
        if isinstance(value, str):
            setattr(exc, name, redact(value))
    exc.args = tuple(redact(part) if isinstance(part, str) else part for part in exc.args)


async def _started(slot: Slot, timeout_s: float | None) -> tuple[Client, float | None]:
    """The client of a server that has to be started for a call, and what is left of the call's time."""
    if timeout_s is None:
        return await slot.connected(), None
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            client = await slot.connected()
    except TimeoutError:
        message = f"{slot.name} did not start within {timeout_s:g} s, the time of the call; nothing was sent"
        raise CallTimeout(message, timeout_s, server=slot.name, maybe_ran="no") from None
    return client, max(timeout_s - (time.monotonic() - began), 0.001)

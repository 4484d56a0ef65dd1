"""A host over servers that live inside the test, with an audit that is a list."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from dragoman.policy import stack
from dragoman.policy.chain import Outcome
from dragoman.policy.ports import Approver, AuditSink
from dragoman.policy.questions import Decision, Question
from dragoman.policy.rules import Rules, ToolRule
from dragoman.policy.withdrawal import Withdrawable
from dragoman.runtime.client import Client
from dragoman.runtime.eras import RememberedEras
from dragoman.runtime.host import Host
from dragoman.runtime.specs import ServerSpec
from dragoman.testing.layers import ListSink
from dragoman.wire.tier import Tier
from tests.runtime.fakes import FakeServer, until

Prepare = Callable[[FakeServer], None]


class Fleet:
    """A host over fake servers; each start makes a new one.

    Args:
        prepare: Gets each server before it is opened, by name.
        tiers: The rules of every server.
        spec: More for every :class:`ServerSpec`.
        audit: Where the audit goes instead of the list.

    Attributes:
        started: The servers, by name, in order of their starts.
        ended: What the closers found in the audit when the host closed.
    """

    def __init__(
        self,
        prepare: Mapping[str, Prepare],
        *,
        tiers: Mapping[str, Tier] | None = None,
        approver: Approver | None = None,
        spec: Mapping[str, Any] | None = None,
        client: Mapping[str, Any] | None = None,
        audit: AuditSink | None = None,
        **host: Any,
    ) -> None:
        self.prepare, self.sink, self.ended = dict(prepare), ListSink(), list[str]()
        self.started: dict[str, list[FakeServer]] = {name: [] for name in prepare}
        rules = {key: ToolRule(tier) for key, tier in (tiers or {"*": "L0"}).items()}
        self._spec, self._client = dict(spec or {}), dict(client or {})
        self._rules = rules
        questions = Withdrawable(approver) if approver is not None else None

        def build(host: Host) -> stack.Stack:
            return stack.build(
                sink=self.sink if audit is None else audit,
                registry=host.registry,
                approver=questions,
                endpoint=host.dispatch,
                result_limit=host.result_limit,
                in_vain=lambda call: host.obstacle(call.server),
            )

        async def closer() -> None:
            self.ended = self.sink.story

        self.host = Host(
            [self.spec(name) for name in prepare],
            build,
            withdraw=questions.withdraw if questions is not None else None,
            closers=[closer, *host.pop("closers", ())],
            **host,
        )

    def spec(self, name: str) -> ServerSpec:
        return ServerSpec(name=name, make_client=functools.partial(self._make, name), rules=Rules(name, self._rules), **self._spec)

    def _make(self, name: str, **options: Any) -> Client:
        server = FakeServer()
        self.prepare[name](server)
        self.started[name].append(server)
        return Client(server, **{"eras": RememberedEras(), "connect_timeout_s": 20.0, "timeout_s": 20.0, **options, **self._client})

    def calls(self, name: str) -> list[str]:
        """The names of the tools that were really called at a server, over all its starts."""
        return [
            message["params"]["name"] for server in self.started[name] for message in server.sent if message.get("method") == "tools/call"
        ]

    async def __aenter__(self) -> Host:
        return await self.host.open()

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None) -> None:
        async with asyncio.timeout(20):
            await self.host.close()


def plain(server: FakeServer) -> None:
    """Nothing to prepare."""


def silent(server: FakeServer) -> None:
    """It connects and lists, and answers no call."""
    server._on = lambda message: [] if message.get("method") == "tools/call" else None


class Thinks:
    """An approver who says yes, once it is let."""

    def __init__(self) -> None:
        self.asked, self.may = asyncio.Event(), asyncio.Event()
        self.questions: list[Question] = []

    async def decide(self, question: Question) -> Decision:
        self.questions.append(question)
        self.asked.set()
        await self.may.wait()
        return Decision(verdict="allow", by="ada", how="callback")


def start(host: Host, name: str, text: str = "x", **options: Any) -> asyncio.Task[Outcome]:
    """A call on its way."""
    return asyncio.create_task(host.call(name, {"text": text}, **options))


async def in_flight(fleet: Fleet, name: str) -> None:
    """Wait until a call has arrived at a server."""
    await until(lambda: len(fleet.calls(name)) == 1)

"""The work for one user request: the calls that share budgets, grants and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dragoman.policy.chain import Outcome

if TYPE_CHECKING:
    from dragoman.runtime.host import Host


class Turn:
    """The calls of one user request; made by :meth:`Host.turn`."""

    def __init__(self, host: Host, turn_id: str, principal: str) -> None:
        self.id = turn_id
        self.principal = principal
        self._host = host

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Outcome:
        """As :meth:`Host.call`, in this turn."""
        return await self._host.call(name, arguments, principal=self.principal, turn=self.id, **options)

    async def read(self, server: str, uri: str, **options: Any) -> Outcome:
        """As :meth:`Host.read`, in this turn."""
        return await self._host.read(server, uri, principal=self.principal, turn=self.id, **options)

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None, **options: Any) -> Outcome:
        """As :meth:`Host.prompt`, in this turn."""
        return await self._host.prompt(server, name, arguments, principal=self.principal, turn=self.id, **options)

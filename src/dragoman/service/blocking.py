"""The same ``Host`` for code without ``async``; see :mod:`dragoman.runtime.blocking`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.policy.chain import Outcome
from dragoman.runtime import turns
from dragoman.runtime.offers import HostTool
from dragoman.runtime.portal import PORTAL
from dragoman.service.assemble import Host as AsyncHost


class Turn:
    """The calls of one user request; made by :meth:`Host.turn`."""

    def __init__(self, turn: turns.Turn) -> None:
        self._turn = turn
        self.id, self.principal = turn.id, turn.principal

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Outcome:
        """As :meth:`Host.call`, in this turn."""
        return PORTAL.run(self._turn.call(name, arguments, **options))

    def read(self, server: str, uri: str, **options: Any) -> Outcome:
        """As :meth:`Host.read`, in this turn."""
        return PORTAL.run(self._turn.read(server, uri, **options))

    def prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None, **options: Any) -> Outcome:
        """As :meth:`Host.prompt`, in this turn."""
        return PORTAL.run(self._turn.prompt(server, name, arguments, **options))


class Host:
    """Many servers under one policy; see :class:`dragoman.Host`. Safe to use from several threads."""

    def __init__(self, host: AsyncHost) -> None:
        self._host = host

    @classmethod
    def from_config(cls, path: str | os.PathLike[str] | None = None, **options: Any) -> Host:
        """A host from a configuration file; see :meth:`dragoman.Host.from_config`."""
        return cls(AsyncHost.from_config(path, **options))

    def open(self) -> Host:
        """Start; ``with`` does this."""
        PORTAL.run(self._host.open())
        return self

    def close(self) -> None:
        """Stop every server; idempotent."""
        PORTAL.run(self._host.close())

    def __enter__(self) -> Host:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def tools(self) -> list[HostTool]:
        """What can be called now."""
        return PORTAL.run(self._host.tools())

    def instructions(self) -> str:
        """How the servers want to be used, in their own words, quoted, for a model."""
        return PORTAL.run(self._host.instructions())

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Outcome:
        """One governed call; never raises for what happened to it."""
        return PORTAL.run(self._host.call(name, arguments, **options))

    def read(self, server: str, uri: str, **options: Any) -> Outcome:
        """One governed read of a resource."""
        return PORTAL.run(self._host.read(server, uri, **options))

    def prompt(self, server: str, name: str, arguments: Mapping[str, str] | None = None, **options: Any) -> Outcome:
        """One governed prompt."""
        return PORTAL.run(self._host.prompt(server, name, arguments, **options))

    @contextlib.contextmanager
    def turn(self, *, principal: str = "local") -> Iterator[Turn]:
        """The work for one user request: its calls share budgets, grants and provenance."""
        yield Turn(self._host.new_turn(principal))

    def add(self, name: str, **spec: Any) -> None:
        """Add a server while it runs."""
        PORTAL.run(self._host.add(name, **spec))

    def remove(self, name: str) -> None:
        """Remove a server while it runs."""
        PORTAL.run(self._host.remove(name))

    def restart(self, name: str) -> None:
        """Stop a server and start it anew, whatever state it is in."""
        PORTAL.run(self._host.restart(name))

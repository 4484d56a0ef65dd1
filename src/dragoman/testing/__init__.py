"""For the tests of programs that use this package: recorded conversations as servers, fakes and reusable checks."""

from __future__ import annotations

from dragoman.testing.replaying import record, replay, replay_command, replay_http

__all__ = ["record", "replay", "replay_command", "replay_http"]

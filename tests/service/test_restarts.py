"""A wish for a restart reaches the hosts of other processes, once."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dragoman import Host
from dragoman.service import restarts
from dragoman.service.context import Context
from tests.runtime.fakes import until
from tests.service.hosting import configured, demo, server


def test_wish_is_heard_once_by_each_who_looks(tmp_path: Path) -> None:
    """What was asked for before a host began is none of its business."""
    context = Context()
    restarts.ask(context, "old")
    before = time.time_ns() - 10**9
    os.utime(context.home / "restart" / f"{context.scope}.old", ns=(before, before))
    one, two = (restarts.Wishes(context.home, context.scope) for _ in range(2))
    assert one() == []
    restarts.ask(context, "files")
    assert (one(), one(), two()) == (["files"], [], ["files"])
    time.sleep(0.01)  # so that the time of the file is another
    restarts.ask(context, "files")
    assert one() == ["files"]


def test_nobody_ever_asked(tmp_path: Path) -> None:
    """There is no folder, and none is made by looking."""
    assert restarts.Wishes(tmp_path, "scope")() == []
    assert list(tmp_path.iterdir()) == []


def test_two_projects_with_a_server_of_one_name_do_not_restart_each_other(tmp_path: Path) -> None:
    """A wish belongs to a configuration, as health and logs do."""
    contexts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        contexts.append(Context(configured(tmp_path / name, server("files", demo("legacy")))))
    one, two = (restarts.Wishes(context.home, context.scope) for context in contexts)
    restarts.ask(contexts[0], "files")
    assert (one(), two()) == (["files"], [])
    restarts.ask(contexts[1], "files")
    assert (one(), two()) == ([], ["files"])


async def test_host_of_another_process_restarts_its_server(tmp_path: Path) -> None:
    """`dragoman restart` while a host runs."""
    config = configured(tmp_path, server("harbour", demo("legacy"), heartbeat_s=0.4))
    async with Host.from_config(config) as host:
        slot = host.slots["harbour"]
        first = slot.client
        restarts.ask(Context(config), "harbour")
        await until(lambda: slot.state == "ready" and slot.client is not first)

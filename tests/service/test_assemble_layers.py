"""Layers of the program's own in a host made from a configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman import ConfigError, Host, NotAllowed, Outcome
from dragoman.policy.chain import Call, CallNext
from tests.documentation import WORKDIR


class Forbid:
    """Refuses one word, and notes what it saw."""

    name = "forbid"

    def __init__(self) -> None:
        self.seen: list[tuple[str, str | None]] = []

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        self.seen.append((call.full_name, call.tier))
        if call.arguments.get("path") == "b.txt":
            raise NotAllowed("b.txt is off limits", layer=self.name, server=call.server)
        return await call_next(call)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """One server that reads files."""
    path = tmp_path / "dragoman.toml"
    path.write_text(f"[servers.files]\ncommand = ['{sys.executable}', '{WORKDIR / 'server.py'}']\ndefault_tier = 'L0'\n")
    (tmp_path / "a.txt").write_text("hello")
    return path


async def test_layer_stands_inside_of_the_one_it_names_and_may_refuse(config: Path) -> None:
    """docs/library.md, "A layer of your own": inside of *resolve* the server and the tier are known."""
    forbid = Forbid()
    async with Host.from_config(config, layers={"resolve": [forbid]}) as host:
        good = await host.call("files.read_text_file", {"path": "a.txt"})
        bad = await host.call("files__read_text_file", {"path": "b.txt"})
    assert good.for_user() == "hello"
    assert isinstance(bad.error, NotAllowed)
    assert bad.error.layer == "forbid"
    assert forbid.seen == [("files.read_text_file", "L0")] * 2


async def test_layer_at_a_place_that_is_not_there_is_refused(config: Path) -> None:
    """Our choice: a protection that is silently absent would be worse than none."""
    for place in ("resolv", "dispatch"):
        with pytest.raises(ConfigError, match=f"no layer '{place}'"):
            Host.from_config(config, layers={place: [Forbid()]})

"""The doctor's word for each faulty server that somebody keeps beside this checkout; skipped, and said so, where there is none."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from dragoman.runtime.client import Client
from dragoman.service.doctor import Doctor
from dragoman.service.doctor_http import look
from tests.faults.test_faults import FIXTURES, kind

#: Fixture → what the doctor must find. ``healthy`` is right where the server does what the protocol allows, and other clients fail on it.
DIAGNOSES: Final = {
    "B01": "polluted-stdout",
    "B03": "not-utf8",
    "B04": "long-message",
    "B06": "exits-at-start",
    "B09": "slow-exit",
    "B11": "stderr-flood",
    "B13": "flood",
    "B14": "dies-on-probe",
    "B17": "foreign-id",
    "B19": "null-members",
    "B22": "stray-progress",
    "B24": "change-storm",
    "B26": "asks",
    "B27": "endless-list",
    "B29": "null-members",
    "B31": "plain-schemas",
    "B33": "schema",
    "B35": "tool-names",
    "B37": "result-part",
    "B38": "output-schema",
    "B41": "version",
    "B42": "older-revision",
    "B44": "healthy",
    "B46": "resumed-streams",
    "B49": "get-is-no-stream",
    "B50": "healthy",
    "B52": "content-type",
    "B54": "gateway",
    "B56": "redirect",
    "B59": "batch",
    "B60": "content-coding",
    "B63": "sse-endpoint",
    "B64": "old-transport",
}
KNOWN = [one for one in FIXTURES if one.stem.partition("_")[0] in DIAGNOSES]


def calls(fixture: Path) -> list[str]:
    """The tools that its DO line calls."""
    done = re.search(r"^DO: (.+)$", fixture.read_text(encoding="utf-8"), re.MULTILINE)
    steps = [step.strip().partition("@")[0] for step in done[1].split(";")] if done is not None else []
    return [step.partition(":")[2] or "echo" for step in steps if step.startswith("call")]


@contextmanager
def served(fixture: Path, folder: Path) -> Iterator[str]:
    """Its URL, for as long as it is needed."""
    port = folder / "port"
    with subprocess.Popen([sys.executable, str(fixture), "--port-file", str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 20
            while not (port.exists() and port.read_text()) and time.monotonic() < until:
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port.read_text()}/{'sse' if 'legacy SSE' in kind(fixture) else 'mcp'}"
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("fixture", KNOWN or [None], ids=[one.stem for one in KNOWN] or ["none"])
async def test_doctor_names_the_fault(fixture: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of fixture and diagnosis: what is wrong, in the doctor's word for it."""
    if fixture is None:
        pytest.skip("no folder next to this checkout has faults/run.py and faults/fixtures")
    monkeypatch.setenv("FAKE_TTL", "60")
    tried = [(name, lambda _: {"text": "hi"}) for name in calls(fixture)]
    if kind(fixture).startswith("http"):
        with served(fixture, tmp_path) as url:
            make = functools.partial(Client, url, connect_timeout_s=5.0)
            checkup = await Doctor(make, url, calls=tried, look=functools.partial(look, url, {}), step_s=5.0).examine()
    else:
        command = [sys.executable, str(fixture)]
        make = functools.partial(Client, command, connect_timeout_s=5.0, env={"FAKE_TTL": os.environ["FAKE_TTL"]})
        checkup = await Doctor(make, "it", command=command, calls=tried, step_s=2.0).examine()
    expected = DIAGNOSES[fixture.stem.partition("_")[0]]
    if expected == "healthy":
        assert checkup.healthy, checkup.found
    else:
        assert expected in {one.code for one in checkup.found}, checkup.found


def test_every_fixture_that_is_there_is_in_the_table() -> None:
    """A new one is looked at, not left out in silence."""
    assert {one.stem.partition("_")[0] for one in FIXTURES} <= DIAGNOSES.keys()

"""The guard over what we send: it sees every message, knows what each revision allows, and fails the test that sends anything else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.wire.revisions import ALL, LEGACY, MODERN
from tests import conftest
from tests.outgoing import ALWAYS, VERSION, Outgoing, Revision

META = {"_meta": {VERSION: MODERN[0], "io.modelcontextprotocol/clientCapabilities": {}}}
LIST = {"id": 1, "method": "tools/list"}
CALL = {"id": 1, "method": "tools/call", "params": {"name": "a"}}


def check(message: dict[str, Any], agreed: str | None = LEGACY[0], **methods: str) -> str | None:
    asked: dict[int | str, str] = {key: method for key, method in methods.items()}
    return Outgoing().check(json.dumps({"jsonrpc": "2.0", **message}).encode(), agreed, asked)


@pytest.mark.parametrize("revision", ALL)
def test_schemas_of_every_revision_say_what_a_client_sends_and_where_they_come_from(revision: str) -> None:
    """tests/schemas is written by scripts/client_schemas.py and by nobody else."""
    found = Revision(revision)
    assert "scripts/client_schemas.py" in found.whole["$comment"]
    assert "tools/call" in found.whole["requests"]
    assert "notifications/cancelled" in found.whole["notifications"]
    assert ("initialize" in found.whole["requests"]) is (revision in LEGACY)
    for name in {*found.whole["requests"].values(), *found.whole["notifications"].values(), *sum(found.whole["results"].values(), [])}:  # noqa: RUF017
        assert found.problem(None, name)  # every one compiles, and refuses what is nothing


@pytest.mark.parametrize(
    ("message", "agreed", "asked"),
    [
        (LIST, LEGACY[0], {}),
        (LIST | {"params": META}, MODERN[0], {}),
        (LIST | {"params": META}, None, {}),
        ({"id": 1, "method": "of/an-extension", "params": {"any": 1}}, LEGACY[0], {}),
        ({"id": 1, "method": "tasks/get", "params": META | {"taskId": "t"}}, MODERN[0], {}),
        ({"method": "notifications/initialized"}, "2024-11-05", {}),
        ({"id": "q", "result": {"roots": [{"uri": "file:///srv"}]}}, "2024-11-05", {"q": "roots/list"}),
        ({"id": "q", "error": {"code": -1, "message": "no"}}, "2025-03-26", {"q": "roots/list"}),
        (CALL | {"params": {"name": "a", "arguments": {"z": 10**400}}}, LEGACY[0], {}),
    ],
)
def test_right_messages_pass(message: dict[str, Any], agreed: str | None, asked: dict[str, str]) -> None:
    """What is allowed, extensions and numbers of any size included."""
    assert check(message, agreed, **asked) is None


@pytest.mark.parametrize(
    ("message", "agreed", "asked", "says"),
    [
        (CALL | {"params": {}}, LEGACY[0], {}, "tools/call is not valid in revision 2025-11-25: params"),
        (CALL | {"params": {"name": 7}}, "2024-11-05", {}, "params.name: 7"),
        (CALL | {"params": {"name": "a", "task": {}}}, "2025-06-18", {}, "no such params: task"),
        (CALL, MODERN[0], {}, "_meta"),
        (LIST | {"params": META}, "2024-11-05", {}, "it says revision 2026-07-28, and 2024-11-05 was agreed on"),
        ({"id": 1, "method": "ping", "params": META}, MODERN[0], {}, "the method is one of 2025-11-25"),
        ({"id": 1, "method": "server/discover"}, LEGACY[0], {}, "the method is one of 2026-07-28"),
        ({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}, None, {}, "initialize is not valid"),
        ({"id": 1, "method": "initialize", "params": {"protocolVersion": "1.0"}}, None, {}, "'1.0' is no revision"),
        ({"id": 1, "method": "notifications/initialized"}, LEGACY[0], {}, "sent as one of the requests"),
        ({"method": "tools/list"}, LEGACY[0], {}, "sent as one of the notifications"),
        ({"id": None, "method": "x"}, LEGACY[0], {}, "id: "),
        ({"id": 1, "result": {}, "error": {"code": 1, "message": ""}}, LEGACY[0], {}, "the message: "),
        ({"id": 1, "method": "x", "extra": 1}, LEGACY[0], {}, "the message: "),
        ({"id": "q", "result": {"roots": [{"uri": "no uri"}]}}, "2024-11-05", {"q": "roots/list"}, "result of roots/list"),
        ({"id": "q", "result": {"action": "maybe"}}, LEGACY[0], {"q": "elicitation/create"}, "action"),
        ({"id": "q", "error": {"code": "x", "message": "no"}}, LEGACY[0], {}, "error"),
    ],
)
def test_wrong_messages_are_named(message: dict[str, Any], agreed: str | None, asked: dict[str, str], says: str) -> None:
    """Wrong members, wrong revision, wrong kind."""
    found = check(message, agreed, **asked)
    assert found is not None
    assert says in found


def test_new_shape_is_checked_after_any_number_of_others() -> None:
    """The bound on what is checked must not hide what is new."""
    outgoing = Outgoing()
    fine = json.dumps({"jsonrpc": "2.0", **CALL}).encode()
    for _ in range(ALWAYS + 10):
        assert outgoing.check(fine, LEGACY[0], {}) is None
    assert outgoing.check(json.dumps({"jsonrpc": "2.0", **CALL, "params": {"name": 7}}).encode(), LEGACY[0], {})


def test_test_that_sends_what_is_not_allowed_fails_and_one_that_says_so_does_not(tmp_path: Path) -> None:
    """The guard itself, in a pytest of its own."""
    (tmp_path / "conftest.py").write_text(Path(conftest.__file__).read_text())
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from tests.protocol.peers import open_client\n"
        "def send():\n"
        "    client = open_client('2025-11-25')\n"
        "    client.start_request('tools/call', {'title': 'no name'})\n"
        "    assert client.actions()\n"
        "def test_wrong():\n"
        "    send()\n"
        "@pytest.mark.sends_garbage(reason='to see')\n"
        "def test_said():\n"
        "    send()\n"
        "def test_right():\n"
        "    pass\n"
    )
    root = str(Path(conftest.__file__).parents[1])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, env={**os.environ, "PYTHONPATH": root})
    assert "3 passed" in done.stdout, done.stdout
    assert "1 error" in done.stdout
    assert "tools/call is not valid in revision 2025-11-25" in done.stdout

"""The import arrows hold in the package, and the checker bites."""

from __future__ import annotations

from pathlib import Path

import pytest

import dragoman
from tests import architecture

PACKAGE = Path(dragoman.__file__).parent
LONGEST_FILE = 400


def test_no_part_imports_what_it_may_not() -> None:
    """Our choice: docs/architecture.md has the reasons; the table in tests/architecture.py has the arrows."""
    assert architecture.violations(PACKAGE) == []


def test_no_module_is_longer_than_one_sitting() -> None:
    """Our choice: above 400 lines a module is split by feature."""
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("wire/a.py", "from dragoman.errors import Refused", "nothing of ours"),
        ("wire/a.py", "import time", "no clock"),
        ("protocol/a.py", "from asyncio import Queue", "no clock"),
        ("protocol/a.py", "import urllib.request", "no clock"),
        ("protocol/a.py", "from urllib import request", "no clock"),
        ("protocol/a.py", "from dragoman import clock", "protocol may import errors, wire"),
        ("protocol/a.py", "from ..transports.base import Transport", "imports dragoman.transports.base"),
        ("protocol/a.py", "from .. import transports", "imports dragoman.transports"),
        ("transports/http/a.py", "from ...runtime import driver", "imports dragoman.runtime.driver"),
        ("policy/a.py", "if TYPE_CHECKING:\n    from dragoman.runtime.client import Client", "a.py:2"),
        ("policy/a.py", "def f():\n    import dragoman.store.sqlite", "imports dragoman.store.sqlite"),
        ("store/a.py", "import importlib\nimportlib.import_module('dragoman.service')", "imports dragoman.service"),
        ("runtime/a.py", "from dragoman import Client", "the package's face"),
        ("runtime/a.py", "import dragoman.demo.legacy", "imports dragoman.demo.legacy"),
        ("testing/a.py", "from dragoman.demo import legacy", "imports dragoman.demo.legacy"),
        ("cli/a.py", "from dragoman.runtime.host import Host", "cli may import errors, service, wire"),
        ("gateway/a.py", "from dragoman.runtime.host import Host", "only runtime.driver"),
        ("gateway/a.py", "from dragoman.runtime import host", "only runtime.driver"),
        ("demo/a.py", "import msgspec", "standard library alone"),
        ("demo/a.py", "from dragoman.wire import methods", "nothing of ours"),
        ("utils.py", "", "no arrows are drawn"),
    ],
)
def test_checker_bites(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    """A checker that finds nothing proves nothing: each kind of forbidden import is found."""
    for unit in ("clock", "transports", "runtime", "demo"):
        (tmp_path / unit).mkdir()
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line)
    (found,) = architecture.violations(tmp_path)
    assert complaint in found


@pytest.mark.parametrize(
    ("file", "line"),
    [
        (
            "protocol/a.py",
            "from dragoman.wire.methods import METHODS\nfrom ..errors import DragomanError\nimport urllib.parse",
        ),
        (
            "transports/http/a.py",
            "import asyncio\nfrom ...protocol import actions\nfrom ..base import X\nfrom dragoman import _version",
        ),
        (
            "gateway/a.py",
            "from dragoman.runtime.driver import Driver\nfrom dragoman.runtime import driver\nfrom ..service import calls",
        ),
        ("demo/a.py", "import json, a\nfrom dragoman.demo import _wire\nfrom ._wire import send"),
        ("testing/a.py", "from dragoman.cli.main import main"),
        ("__init__.py", "from .service.assemble import host"),
        ("__main__.py", "from dragoman.cli.main import main"),
    ],
)
def test_checker_lets_permitted_imports_pass(tmp_path: Path, file: str, line: str) -> None:
    """The other half: a checker that finds everything proves nothing either."""
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line)
    assert architecture.violations(tmp_path) == []

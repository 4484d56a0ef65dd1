"""A configuration as JSON for people and programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.config.describe import describe
from dragoman.config.load import parse


def test_a_configuration_is_shown_without_its_secrets_and_without_what_is_not_set() -> None:
    """Our choice."""
    text = "[servers.s]\ncommand = ['x']\nenv = { A_TOKEN = 'literal', B = '${env:B}' }\ntools.a = 'L0'\n"
    shown = describe(parse(text, Path("c.toml")))
    assert "literal" not in json.dumps(shown)
    assert shown["servers"] == {
        "s": {
            "command": ["x"],
            "env": {"A_TOKEN": "[redacted]", "B": "${env:B}"},
            "breaker": {"failures": 10, "open_s": 300.0},
            "enabled": True,
            "default_tier": "L2",
            "limits": {"result_bytes": 1000000, "frame_bytes": 134217728, "tools": 10000, "concurrent": 64, "queue": 256, "queue_s": 30.0},
            "tools": {"a": {"tier": "L0"}},
        }
    }
    assert shown["path"] == "c.toml"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("https://u:p@hooks.test/T0/secret", "https://hooks.test/[redacted]"),
        ("${env:HOOK}", "${env:HOOK}"),
        ("https://hooks.test/${env:HOOK}", "https://hooks.test/[redacted]"),
    ],
)
def test_the_path_of_a_webhook_is_a_secret(written: str, shown: str) -> None:
    """Whoever knows it can post there."""
    assert describe(parse(f"alerts.webhook = '{written}'", Path("c.toml")))["alerts"] == {"webhook": shown}

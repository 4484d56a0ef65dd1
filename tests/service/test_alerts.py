"""The alerts of a host: where they go, and the one that the store raises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import Alert, CallbackApprover, ConfigError, Host, NotAllowed
from tests.service.hosting import configured, demo, server, until
from tests.transports.loopback import Exchange, loopback


async def test_webhook_of_the_file_gets_what_the_callback_gets(tmp_path: Path) -> None:
    """Its secrets come from variables."""

    async def take(exchange: Exchange) -> None:
        exchange.reply("204 No Content")

    seen: list[Alert] = []
    async with loopback(take) as hook:
        path = configured(tmp_path, f'[alerts]\nwebhook = "http://127.0.0.1:{hook.port}/${{env:HOOK}}"\n')
        async with Host.from_config(
            path, env={"HOOK": "s3cr3t-path", "DRAGOMAN_HOME": str(tmp_path / "home")}, on_alert=seen.append
        ) as host:
            host.alerts(Alert(kind="breaker open", server="files", text="see s3cr3t-path", at=1.0))
        (got,) = hook.requests
    assert got.line.split()[1] == "/s3cr3t-path"
    assert json.loads(got.body)["text"] == seen[0].text == "see [redacted]"


@pytest.mark.parametrize(
    ("written", "says"), [("https://x.test/${env:NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE is not set"), ("${env:HOOK}", "expected a URL with")]
)
def test_webhook_that_cannot_be_used_is_said_before_anything_starts(written: str, says: str, tmp_path: Path) -> None:
    """A webhook that is silently not there would be worse than none."""
    path = configured(tmp_path, f'[alerts]\nwebhook = "{written}"\n')
    with pytest.raises(ConfigError, match=says) as caught:
        Host.from_config(path, env={"HOOK": "unix:///run/x", "DRAGOMAN_HOME": str(tmp_path / "home")})
    assert caught.value.key == "alerts.webhook"


async def test_full_disk_stops_the_audit_loudly_and_with_it_all_that_needs_a_record(
    tmp_path: Path, dragoman_home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An audit cannot be denied: reads go on with an alert, what is risky is refused, and never sent."""
    tools = {"search": "L0", "add_note": "L1", "delete_notes": "L2"}
    path = configured(tmp_path, server("harbour", demo("legacy"), tools))
    seen: list[Alert] = []
    async with Host.from_config(path, on_alert=seen.append, approver=CallbackApprover(lambda question: True)) as host:
        risky = {"ids": ["n1"]}
        assert (await host.call("harbour.delete_notes", risky)).ok
        await host.plumbing.store._read(lambda con: con.execute("PRAGMA max_page_count=1"))  # as full as it is now
        for _ in range(200):
            assert (await host.call("harbour.search", {"text": "x" * 4000})).ok
            if seen:
                break
        await until(lambda: bool(seen))
        refused = await host.call("harbour.delete_notes", risky)
        assert isinstance(refused.error, NotAllowed)
        assert "was not sent, because the audit cannot be written" in str(refused.error)
        assert (await host.call("harbour.search", {"text": "tide"})).ok
        note = await host.call("harbour.add_note", {"text": "x"})
        assert isinstance(note.error, NotAllowed)
        assert "add_note is L1 and was not sent, because the audit cannot be written" in str(note.error)
        failure = host.plumbing.store.failure
        assert failure is not None
        assert failure.lost > 0
    (alert,) = seen
    assert (alert.kind, alert.server) == ("audit stopped", "")
    assert "no space left" in alert.text
    assert [record.levelname for record in caplog.records if "the audit has stopped" in record.getMessage()] == ["WARNING"]


async def test_the_configuration_may_stop_reads_too_when_the_audit_stops(tmp_path: Path, dragoman_home: Path) -> None:
    """`[audit] on_failure = "stop"`: nothing at all is sent without a record."""
    path = configured(tmp_path, server("harbour", demo("legacy"), {"search": "L0"}))
    path.write_text(path.read_text() + '\n[audit]\non_failure = "stop"\n')
    seen: list[Alert] = []
    async with Host.from_config(path, on_alert=seen.append) as host:
        assert (await host.call("harbour.search", {"text": "tide"})).ok
        await host.plumbing.store._read(lambda con: con.execute("PRAGMA query_only=1"))  # as a file system that became read-only
        for _ in range(200):
            await host.call("harbour.search", {"text": "tide"})
            if seen:
                break
        await until(lambda: bool(seen))
        refused = await host.call("harbour.search", {"text": "tide"})
        assert isinstance(refused.error, NotAllowed)
        assert "search is L0 and was not sent, because the audit cannot be written" in str(refused.error)
    assert "all calls are refused" in seen[0].text

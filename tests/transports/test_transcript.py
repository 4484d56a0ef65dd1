"""Transcripts as files: what is written comes back, secrets do not, and a broken file costs a recording and nothing else."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.redactor import Redactor
from dragoman.errors import ConfigError
from dragoman.transports.transcript import Entry, TranscriptWriter, read

TARGET = {"kind": "stdio", "command": ["server"]}


def written(path: Path, *said: bytes, redactor: Redactor | None = None, **more: Any) -> Path:
    writer = TranscriptWriter.create(path, TARGET, (redactor or Redactor()).redact_text)
    for data in said:
        writer.add("server", data, **more)
    writer.close()
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """docs/record-replay.md: JSON stays JSON, and what is none is text."""
    path = written(
        tmp_path / "t.jsonl", b'{"id":1,"result":"gr\xc3\xb6\xc3\x9fe \\ud800"}', b"starting ...", b"\xff", stream=3, event_id="e7"
    )
    found = read(path)
    assert (found.kind, found.header["recorder"]["name"]) == ("stdio", "dragoman")
    assert [entry._replace(ms=0) for entry in found.entries] == [
        Entry(0, "server", {"id": 1, "result": "größe \ud800"}, stream=3, event_id="e7"),
        Entry(0, "server", text="starting ...", stream=3, event_id="e7"),
        Entry(0, "server", text="\ufffd", stream=3, event_id="e7"),
    ]


def test_secrets_are_not_in_the_file_and_messages_stay_messages(tmp_path: Path) -> None:
    """Our choice: a transcript is made to be passed on."""
    redactor = Redactor()
    redactor.add("hunter2-secret")
    said = b'{"id":1,"result":{"password":"abcdefgh","note":"it is hunter2-secret","progressToken":4}}'
    path = written(
        tmp_path / "t.jsonl", said, redactor=redactor, http={"status": 200, "headers": {"www-authenticate": "Bearer abcdefghijk"}}
    )
    text = path.read_text()
    assert not any(secret in text for secret in ("hunter2", "abcdefgh"))
    assert read(path).entries[0].message["result"]["progressToken"] == 4


def test_secret_whose_letters_are_escaped_is_not_written_out(tmp_path: Path) -> None:
    """A server that echoes what it was given chooses how; reading it as JSON would bring it to light."""
    redactor = Redactor()
    redactor.add("hunter2-secret")
    path = written(tmp_path / "t.jsonl", b'{"id":1,"result":{"note":"it is \\u0068unter2-secret"}}', redactor=redactor)
    assert "hunter2" not in path.read_text()
    assert read(path).entries[0].message["result"]["note"] == "it is [redacted]"


@pytest.mark.parametrize(
    "entry",
    [
        {"ms": float("nan")},
        {"ms": float("inf")},
        {"http": {"status": "x"}},
        {"http": {"status": 99_999}},
        {"http": {"status": True}},
        {"http": {"headers": 7}},
        {"http": {"headers": {"mcp-session-id": "a\r\nSet-Cookie: b"}}},
        {"http": {"headers": {"a\nb": "c"}}},
        {"http": {"content_type": "text/plain\r\nX: y"}},
        {"http": {"path": 5}},
    ],
    ids=repr,
)
def test_head_that_cannot_be_played_is_named_with_its_line(entry: dict[str, Any], tmp_path: Path) -> None:
    """A transcript may come from a stranger: it must not fail in the middle, or write headers of its own."""
    path = written(tmp_path / "t.jsonl")
    with path.open("a") as file:
        file.write(json.dumps({"ms": 0, "from": "server", **entry}) + "\n\n")
        file.write(json.dumps({"ms": 0, "from": "server", "end": "complete"}) + "\n")
    with pytest.raises(ConfigError, match="is no entry of a transcript") as caught:
        read(path)
    assert caught.value.line == 2


def test_device_is_not_read_to_an_end_that_it_has_not() -> None:
    """It would fill the memory first."""
    with pytest.raises(ConfigError, match="is a device"):
        read("/dev/null")


def test_file_steers_no_terminal(tmp_path: Path) -> None:
    """People look at files with `cat`: C1 controls, marks of direction and DEL are written as JSON escapes, and mean the same."""
    said = '{"x":"\x9b31m \u202e \x7f größe"}'
    path = written(tmp_path / "t.jsonl", said.encode(), end="\x9b\u202e")
    assert not set(path.read_text()) & set("\x9b\u202e\x7f")
    entry = read(path).entries[0]
    assert (entry.message, entry.end) == (json.loads(said), "\x9b\u202e")


def test_only_the_owner_can_read_it_and_nothing_is_written_over(tmp_path: Path) -> None:
    """Our choice: results may be private although they are no secrets."""
    path = written(tmp_path / "t.jsonl")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ConfigError, match="is there already"):
        written(path)
    with pytest.raises(ConfigError, match="cannot be written"):
        written(tmp_path / "no" / "t.jsonl")


def test_full_disk_ends_the_recording_and_not_the_conversation(caplog: pytest.LogCaptureFixture) -> None:
    """Our choice: whoever is in the middle must not be the weakest part."""

    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    writer = TranscriptWriter(Full(), TARGET, str)
    writer.add("client", b"{}")
    writer.add("client", b"{}")
    assert writer.failure is not None
    assert len(caplog.records) == 1


HEADER = json.dumps({"dragoman_transcript": 1, "target": TARGET})
LINE = '{"ms":1,"from":"client","message":{}}'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no header"),
        ("[]", "no header"),
        ('{"jsonrpc":"2.0"}', "no header"),
        ('{"dragoman_transcript":9}', "version 9"),
        (f'{HEADER}\n{{"from":"nobody","ms":1}}\n{LINE}', "no entry"),
        (f'{HEADER}\n{{"from":"client"}}\n{LINE}', "no entry"),
        (f'{HEADER}\n{{"from":"client","ms":1,"stream":"x"}}\n{LINE}', "no entry"),
        (f'{HEADER}\n{{"from":"client","ms":1,"text":7}}\n{LINE}', "no entry"),
        (f"{HEADER}\n{'[' * 200_000}\n{LINE}", "no entry"),
    ],
)
def test_what_is_no_transcript_is_refused_by_name(tmp_path: Path, text: str, match: str) -> None:
    """Our choice: file and line are in the message."""
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=match):
        read(path)


def test_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    """Our choice: a recorder that was killed leaves a usable file."""
    path = tmp_path / "t.jsonl"
    path.write_text(f"{HEADER}\n{LINE}\n{LINE[:20]}")
    assert len(read(path).entries) == 1


def test_file_that_is_not_there_is_a_mistake_of_the_person(tmp_path: Path) -> None:
    """Our choice: exit code 2."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "t.jsonl")

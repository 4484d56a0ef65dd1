"""Writing the audit out, record by record: JSON lines for programs, CSV for tables.  Memory does not grow with the records."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, Literal

from dragoman.errors import ConfigError, DragomanError
from dragoman.service.audit import by_full_name
from dragoman.service.context import Context
from dragoman.store.records import AuditRecord
from dragoman.store.schema import in_words, open_read_only, schema_version
from dragoman.store.search import Query, everything
from dragoman.wire.escape import escape_inline, escape_json

Form = Literal["jsonl", "csv"]
COLUMNS: Final = (
    "at",
    "event",
    "call",
    "turn",
    "principal",
    "server",
    "tool",
    "tier",
    "attempt",
    "status",
    "detail",
    "writer",
    "seq",
    "prev",
    "hash",
)
#: What a spreadsheet takes for the beginning of a formula, full-width forms too.
_FORMULA: Final = tuple("=+-@\t\r\n|%＝＋－＠")


def export(context: Context, query: Query, form: Form, file: str | None = None) -> int:
    """Write all matching records, oldest first, to ``file`` (0600, begun anew) or to stdout; how many there were.

    Blocks; one snapshot, safe beside live writers.

    Raises:
        ConfigError: The file cannot be written.
        DragomanError: The audit cannot be read.
    """
    path = context.store_path
    with _target(context, file) as out:
        if not path.exists():
            return _write(iter(()), form, out)
        try:
            with contextlib.closing(open_read_only(path)) as con:
                con.text_factory = lambda raw: raw.decode("utf-8", "replace")  # what was edited is exported too
                con.execute("BEGIN")
                found = everything(con, by_full_name(query)) if schema_version(con) else iter(())
                return _write(found, form, out)
        except (sqlite3.Error, DragomanError) as exc:
            raise in_words(exc, path) from exc


def _write(records: Iterator[AuditRecord], form: Form, out: IO[str]) -> int:
    write = _csv(out) if form == "csv" else _lines(out)
    count = 0
    for count, record in enumerate(records, 1):  # noqa: B007 - counted
        write(record)
    out.flush()
    return count


def _lines(out: IO[str]) -> Callable[[AuditRecord], None]:
    def write(record: AuditRecord) -> None:
        shown = record.for_json()
        del shown["verdict"]  # no part of the record
        out.write(escape_json(json.dumps(shown, ensure_ascii=False)) + "\n")

    return write


def _csv(out: IO[str]) -> Callable[[AuditRecord], None]:
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)

    def write(record: AuditRecord) -> None:
        shown = record.for_json()
        shown["detail"] = escape_json(json.dumps(shown["detail"], ensure_ascii=False))
        rows.writerow([cell(shown[name]) for name in COLUMNS])

    return write


def cell(value: object) -> object:
    """A value for a table: escaped, and text that a spreadsheet would calculate is text (an apostrophe in front of it)."""
    if not isinstance(value, str):
        return value
    text = escape_inline(value)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


@contextlib.contextmanager
def _target(context: Context, file: str | None) -> Iterator[IO[str]]:
    if file is None or file == "-":
        yield sys.stdout
        return
    path = context.cwd / Path(file).expanduser()
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    except OSError as exc:
        raise ConfigError(f"{file} cannot be written: {exc.strerror or exc}") from exc
    with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace", newline="") as out:
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):  # and not /dev/stdout
                os.fchmod(fd, 0o600)  # a file from elsewhere, or an odd umask
                os.ftruncate(fd, 0)
            yield out
        except OSError as exc:
            raise ConfigError(f"{file} cannot be written: {exc.strerror or exc}") from exc

"""The proof of the audit: every chain recomputed from the file alone, in one pass and one snapshot.

It finds edited, missing, added and reordered records, and, by the ``heads`` table, chains cut at the end.  It cannot find
a writer whose records, head and name were all removed, nor a chain that somebody who can write the file cut or recomputed
together with its head: that takes a copy of the heads in another place.  Memory grows with the writers, not with the records.
Where the oldest records were pruned, a chain begins at its anchor, and the last record *pruned* vouches for all anchors.
"""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import ConfigError, DragomanError
from dragoman.store.chain import COLUMNS, VERSION, Row, canonical_json, genesis, record_hash
from dragoman.store.schema import APPLICATION_ID, HAS_ANCHORS, MIGRATIONS, in_words, newer, open_read_only, schema_version

_INTS, _FLOATS = {"seq", "v"}, {"at"}
_OPTIONAL = {"turn", "principal", "server", "tool", "tier", "attempt", "status"}
_TYPES: tuple[tuple[type, ...], ...] = tuple(
    ((int,) if name in _INTS or name == "attempt" else (float,) if name in _FLOATS else (str,))
    + ((type(None),) if name in _OPTIONAL else ())
    for name in Row._fields
)
#: Stands for the writer where the anchors as a whole are not as they were written.
ANCHORS = "(anchors)"
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])


class BadRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The first record of a writer's chain that is not as it was written; ``seq`` is where it should stand."""

    writer: str
    seq: int
    what: str

    def __str__(self) -> str:
        if self.writer == ANCHORS:
            return f"where the chains begin since records were pruned: {self.what}"
        return f"writer {self.writer}, record {self.seq}: {self.what}"


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """``damage`` is set where the file itself could not be read to its end; then ``bad`` may be incomplete.

    ``pruned`` records are gone from the beginnings of the chains, the last of them of the time ``pruned_up_to``.
    """

    path: str
    records: int
    writers: int
    bad: list[BadRecord]
    pruned: int = 0
    pruned_up_to: float | None = None
    damage: str | None = None

    @property
    def ok(self) -> bool:
        return not self.bad and self.damage is None


def anchors_digest(con: sqlite3.Connection) -> str:
    """SHA-256 over all anchors, as a record *pruned* keeps it."""
    return hashlib.sha256(canonical_json(con.execute("SELECT writer, seq, hash, at FROM anchors ORDER BY writer").fetchall())).hexdigest()


class Chains:
    """What is known of the chains while reading on: place and hash expected next, and first faults; at first, their anchors."""

    def __init__(self, con: sqlite3.Connection | None = None) -> None:
        self.records = 0
        self.pruned, self._anchored = 0, False
        self.pruned_up_to: float | None = None
        self.chains: dict[str, tuple[int, str]] = {}
        self.bad: dict[str, BadRecord] = {}
        self._con = con if con is not None and schema_version(con) >= HAS_ANCHORS else None
        if self._con is not None:
            anchors = self._con.execute("SELECT writer, seq, hash, at FROM anchors").fetchall()
            self._anchored = bool(anchors)
            for writer, seq, hash_, at in anchors:
                if not isinstance(seq, int) or not isinstance(hash_, str) or not isinstance(at, float):
                    self.fault(str(writer), 0, "edited (its anchor has a value of the wrong type)")
                    continue
                self.pruned += seq
                self.pruned_up_to = at if self.pruned_up_to is None else max(self.pruned_up_to, at)
                if writer:
                    self.chains[writer] = (seq, hash_)

    def anchor_fault(self) -> BadRecord | None:
        """What is wrong with the anchors: the last record *pruned* is not about them."""
        if self._con is None:
            return None
        row = self._con.execute("SELECT detail FROM audit WHERE event = 'pruned' ORDER BY n DESC LIMIT 1").fetchone()
        told = None
        if row is not None:
            try:
                told = msgspec.json.decode(row[0], type=dict[str, Any]).get("anchors_sha256")
            except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
                told = "unreadable"
        if told == anchors_digest(self._con) or (told is None and not self._anchored):
            return None
        what = "edited (the last pruning wrote down others)" if told is not None else "made up (no pruning was written down)"
        return BadRecord(writer=ANCHORS, seq=0, what=what)

    def fault(self, writer: str, seq: int, what: str) -> None:
        self.bad.setdefault(writer, BadRecord(writer=writer, seq=seq, what=what))

    def record(self, values: tuple[Any, ...]) -> None:
        self.records += 1
        row = Row._make(values)
        writer = values[0] if isinstance(values[0], str) else repr(values[0])
        if writer in self.bad:
            return
        seq, prev = self.chains.get(writer) or (0, genesis(writer))
        seq += 1
        if not all(map(isinstance, values, _TYPES)):
            return self.fault(writer, seq, "edited (a column has a value of the wrong type)")
        if row.v != VERSION:
            return self.fault(writer, row.seq, f"wrong version {row.v} (known: {VERSION})")
        if row.seq > seq:
            return self.fault(writer, seq, "missing" if row.seq == seq + 1 else f"missing, up to {row.seq - 1}")
        if row.seq < seq:
            return self.fault(writer, row.seq, "out of order, or there twice")
        try:
            _object.decode(row.detail)
            recomputed = record_hash(row)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            recomputed = ""
        if recomputed != row.hash:
            return self.fault(writer, seq, "edited (its hash does not fit its content)")
        if row.prev != prev:
            return self.fault(writer, seq, "replaced (it does not follow from the record before it)")
        self.chains[writer] = (seq, row.hash)
        return None

    def head(self, writer: Any, seq: Any, hash_: Any) -> None:
        name = writer if isinstance(writer, str) else repr(writer)
        last, last_hash = self.chains.get(name) or (0, "")
        if name in self.bad:
            return
        if not isinstance(seq, int) or (seq == last and hash_ != last_hash) or seq < last:
            return self.fault(name, last, f"the head of the chain is edited (it says record {seq!r})")
        if seq > last:
            return self.fault(name, last + 1, f"missing, up to the last record {seq}" if seq > last + 1 else "missing (it was the last)")
        return None


def verify(path: Path | str) -> VerifyReport:
    """Check every chain in the file at ``path``; safe beside live writers.  A file that is not there is an empty audit.

    Blocks (about 7 s for 1,000,000 records): async callers use a thread.

    Raises:
        ConfigError: There is nothing to check here: no regular file, or one of a newer Dragoman.  Whatever else is wrong is
            in the report.
    """
    path, check, damage = Path(path), Chains(), None
    con: sqlite3.Connection | None = None
    try:
        if path.exists():
            con = open_read_only(path)
            con.execute("BEGIN")  # one snapshot for records and heads
            damage = _schema_fault(con, path)
            if damage is None and schema_version(con):
                check = Chains(con)
                _read(con, check)
    except ConfigError:
        raise
    except (sqlite3.Error, OSError, DragomanError) as exc:
        damage = str(in_words(exc, path))
    finally:
        if con is not None:
            con.close()
    bad = sorted(check.bad.values(), key=lambda fault: fault.writer)
    return VerifyReport(
        path=str(path),
        records=check.records,
        writers=len((check.chains.keys() | check.bad.keys()) - {ANCHORS}),
        bad=bad,
        pruned=check.pruned,
        pruned_up_to=check.pruned_up_to,
        damage=damage,
    )


def _schema_fault(con: sqlite3.Connection, path: Path) -> str | None:
    version = schema_version(con)
    names = {name for (name,) in con.execute("SELECT name FROM sqlite_schema")}
    if not version and not names:
        return None
    if con.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return "this is an SQLite file of another program, or its mark was removed"
    if version > len(MIGRATIONS):
        raise newer(path, version, len(MIGRATIONS))
    if version < 1:
        return f"schema version {version}, this Dragoman knows versions 1 to {len(MIGRATIONS)}"
    needed = {"audit", "heads", "writers", "anchors"} if version >= HAS_ANCHORS else {"audit", "heads", "writers"}
    if missing := needed - names:
        return f"table {', '.join(sorted(missing))} was removed"
    return None


def _read(con: sqlite3.Connection, check: Chains) -> None:
    last = -(2**63)
    while True:
        try:
            for n, *values in con.execute(f"SELECT n, {COLUMNS} FROM audit WHERE n > ? ORDER BY n", (last,)):
                check.record(tuple(values))
                last = n
            break
        except sqlite3.OperationalError as exc:
            if "decode" not in str(exc):
                raise
            # A text column that is no UTF-8 ends the cursor: name the record, and go on behind it.
            con.text_factory = lambda raw: raw.decode("utf-8", "replace")
            n, *values = con.execute(f"SELECT n, {COLUMNS} FROM audit WHERE n > ? ORDER BY n LIMIT 1", (last,)).fetchone()
            con.text_factory = str
            check.record(tuple(values))
            last = n
    if (unvouched := check.anchor_fault()) is not None:
        check.fault(unvouched.writer, unvouched.seq, unvouched.what)
    heads = set()
    for writer, seq, hash_ in con.execute("SELECT writer, seq, hash FROM heads"):
        heads.add(writer)
        check.head(writer, seq, hash_)
    for writer, (seq, _) in check.chains.items():
        if writer not in heads:
            check.fault(writer, seq, "the head of the chain is missing")
    for (writer,) in con.execute("SELECT writer FROM writers"):
        if writer not in heads:
            check.fault(str(writer), 1, "the head of the chain is missing")

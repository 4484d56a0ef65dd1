"""The thread that owns the SQLite connection: one queue in, replies out.  It knows transactions, not what a face offers.

Why one connection and not a second one for durable records: a chain has one head, and two connections would have to hand
it to and fro.  ``PRAGMA synchronous`` may change between transactions, so a batch that holds a durable record is committed
with FULL (the write-ahead log is synced at the commit, and with it every earlier batch of this process in the same log),
all others with NORMAL (synced at checkpoints: they survive the death of the process, not a power cut).

Ordinary records wait up to ``linger_s`` for company: the thread wakes once per batch and not once per record, which
keeps it from taking the interpreter away from the caller at every call.
"""

from __future__ import annotations

import atexit
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dragoman.clock import Clock
from dragoman.errors import DragomanError
from dragoman.store.chain import COLUMNS, Row, genesis, seal
from dragoman.store.chores import Chores
from dragoman.store.jobs import Job, Reply, Run
from dragoman.store.prune import Keep
from dragoman.store.records import AuditEntry, StoreFailure
from dragoman.store.schema import in_words, is_busy, open_database, store_error
from dragoman.store.writers import this_writer

BATCH = 128  # records sealed in one go: about half a millisecond in which the interpreter is ours
EXIT_WAIT_S = 5.0

_log = logging.getLogger("dragoman.store")
_INSERT = f"INSERT INTO audit ({COLUMNS}) VALUES ({', '.join('?' * len(Row._fields))})"
_HEAD = "INSERT INTO heads (writer, seq, hash) VALUES (?, ?, ?) ON CONFLICT (writer) DO UPDATE SET seq = excluded.seq, hash = excluded.hash"
_WRITER = "INSERT INTO writers VALUES (?, ?, ?, ?, ?, ?, ?)"


class Worker:
    """One thread, one connection, one chain.  ``put`` and ``submit`` are for any thread of the process that made it."""

    def __init__(
        self,
        path: Path | str,
        clock: Clock,
        *,
        max_queued: int,
        linger_s: float,
        patience_s: float,
        on_failure: Callable[[StoreFailure], None] | None = None,
        keep: Keep | None = None,
    ) -> None:
        self._on_failure = on_failure
        self.path, self.clock, self.max_queued = Path(os.path.abspath(path)), clock, max_queued
        self.writer = this_writer(clock.now())
        self._linger_s, self._patience_s = linger_s, patience_s
        self._queue: deque[AuditEntry | Job] = deque()
        self._wake, self._urgent = threading.Event(), threading.Event()
        self._lock = threading.Lock()  # held for a few instructions at a time, never across the disk
        self._waiting_for_space: list[Reply] = []
        self._on_end: list[Reply] = []
        self._failure: StoreFailure | None = None
        self._stopping = self._ended = self._registered = False
        self._give_up_at = float("inf")
        self._head = (0, genesis(self.writer.writer))
        self._next_head = self._head  # once the open transaction is committed
        self._full = False
        self._chores = Chores(self.path, clock, keep)
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._main, name="dragoman-store", daemon=True)

    # --- called from any thread -----------------------------------------------------------------------------------

    def start(self, opened: Reply) -> None:
        self._opened = opened
        atexit.register(self.end_at_exit)
        self._thread.start()

    @property
    def failure(self) -> StoreFailure | None:
        return self._failure

    def has_space(self) -> bool:
        return len(self._queue) < self.max_queued

    def put(self, entry: AuditEntry) -> None:
        """Queue an ordinary record, whether there is space or not."""
        self.check_usable()
        with self._lock:
            if self._stopping:
                raise store_error(f"store {self.path} is closed")
            self._queue.append(entry)
        if not self._wake.is_set():
            self._wake.set()

    def submit(self, job: Job) -> None:
        self.check_usable()
        with self._lock:
            if self._stopping:
                raise store_error(f"store {self.path} is closed")
            self._queue.append(job)
        self._hurry()

    def wait_for_space(self, reply: Reply) -> None:
        with self._lock:
            self._waiting_for_space.append(reply)
        if self.has_space() or self._ended:  # it came while we were about to wait
            reply.settle()

    def check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise store_error(f"store {self.path} was opened before this process was forked", "open a store of its own in the child")

    def stop(self, timeout_s: float, reply: Reply | None = None) -> None:
        """Take no more, write what is queued, end; locks are waited for until ``timeout_s`` from now."""
        self.check_usable()
        with self._lock:
            self._stopping = True
            self._give_up_at = min(self._give_up_at, time.monotonic() + timeout_s)
            ended = self._ended
            if reply is not None and not ended:
                self._on_end.append(reply)
        if reply is not None and ended:
            reply.settle()
        self._hurry()

    def end_at_exit(self) -> None:
        """For programs that forget to close: flush while the interpreter still lives."""
        if os.getpid() == self._pid and self._thread.is_alive():
            self.stop(EXIT_WAIT_S)
            self._thread.join(EXIT_WAIT_S + 1)
            if self._thread.is_alive():
                self.report_stuck(EXIT_WAIT_S)

    def report_stuck(self, after_s: float) -> None:
        """The thread hangs in the disk: count what is queued as lost; what the thread holds may or may not have been written."""
        hint = "check the disk; the last records may be missing"
        rest: list[AuditEntry | Job] = []
        while self._queue:
            try:
                rest.append(self._queue.popleft())
            except IndexError:  # the thread came back and took it
                break
        self._give_up(rest, store_error(f"store {self.path} did not answer within {after_s:g} s", hint))

    def report_locked(self, after_s: float) -> None:
        """The queue has been full for ``after_s``: from now on records are counted as lost, so that nobody waits for ever."""
        hint = "end the program that keeps it locked, then start again"
        self._fail(store_error(f"store {self.path} is kept locked by another program: {after_s:g} s, and its queue is full", hint), lost=0)

    def _hurry(self) -> None:
        self._wake.set()
        self._urgent.set()

    # --- the thread -----------------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            connection = open_database(self.path, patience_s=self._patience_s)
            stat = os.stat(self.path)
        except (DragomanError, OSError) as exc:
            error = in_words(exc, self.path)
            with self._lock:
                self._stopping = True
            self._opened.settle(error=error)
            self._end()
            return
        self._con, self._inode = connection, (stat.st_dev, stat.st_ino)
        self._opened.settle()
        while True:
            if not self._wake.wait(self._chores.wait_s()):
                self._do_chore()
                continue
            if not self._urgent.is_set():
                self._urgent.wait(self._linger_s)
            self._wake.clear()
            self._urgent.clear()
            self._drain()
            with self._lock:
                if self._stopping and not self._queue:
                    break
        self._sign_off()
        self._end()

    def _drain(self) -> None:
        while self._queue:
            batch: list[AuditEntry | Job] = []
            while self._queue and len(batch) < BATCH and not (isinstance(self._queue[0], Job) and self._queue[0].entry is None):
                batch.append(self._queue.popleft())
            try:
                if batch:
                    self._write(batch)
                elif isinstance(job := self._queue.popleft(), Job):
                    self._run(job)
            except Exception as exc:  # a defect of ours must not end the thread: everybody would wait for ever
                _log.exception("store %s: unexpected error", self.path)
                self._give_up(batch, store_error(f"store {self.path}: unexpected {type(exc).__name__}: {exc}"))
            with self._lock:
                waiting, self._waiting_for_space = self._waiting_for_space, []
            for reply in waiting:
                reply.settle()

    def _write(self, batch: list[AuditEntry | Job]) -> None:
        while True:
            batch = [item for item in batch if not (isinstance(item, Job) and item.abandoned)]
            if self._failure is not None:
                return self._give_up(batch, store_error(self._failure.error))
            if not batch:
                return None
            try:
                committed = self._commit(batch)
            except (sqlite3.Error, OSError, DragomanError) as exc:
                if is_busy(exc) and time.monotonic() < self._give_up_at:
                    continue  # SQLite has waited for a moment already
                return self._give_up(batch, in_words(exc, self.path))
            for job in committed:
                job.reply.settle()
            return None

    def _do_chore(self) -> None:
        if self._failure is not None:  # everybody was told
            return self._chores.rest()
        try:
            self._in_transaction(lambda con: self.noting(con, self._chores.step(con)))
        except Exception as exc:
            self._chores.failed(exc)
        return None

    def noting(self, con: sqlite3.Connection, note: AuditEntry | None) -> None:
        """Add a record about what a transaction does to the chain, inside of it."""
        if note is not None:
            self._insert(con, [note])

    def _commit(self, batch: list[AuditEntry | Job]) -> list[Job]:
        full = any(isinstance(item, Job) for item in batch)
        if full != self._full:
            self._con.execute(f"PRAGMA synchronous={'FULL' if full else 'NORMAL'}")
            self._full = full
        jobs: list[Job] = []

        def insert(con: sqlite3.Connection) -> None:
            entries: list[AuditEntry] = []
            for item in batch:
                entry = item.entry if isinstance(item, Job) else item
                # Looked at again with the lock in hand: the caller may have given up while we waited for it.
                if entry is None or (isinstance(item, Job) and item.abandoned):
                    continue
                if isinstance(item, Job):
                    jobs.append(item)
                entries.append(entry)
            if entries:
                self._insert(con, entries)

        self._in_transaction(insert)
        return jobs

    def _insert(self, con: sqlite3.Connection, entries: list[AuditEntry]) -> None:
        seq, prev = self._head
        rows: list[Row] = []
        for entry in entries:
            rows.append(row := seal(entry, self.writer.writer, seq + 1, prev))
            seq, prev = row.seq, row.hash
        self._next_head = (seq, prev)
        if not self._registered:
            con.execute(_WRITER, msgspec.structs.astuple(self.writer))
        con.executemany(_INSERT, rows)
        con.execute(_HEAD, (self.writer.writer, rows[-1].seq, rows[-1].hash))

    def _in_transaction(self, run: Run) -> Any:
        stat = os.stat(self.path)
        if (stat.st_dev, stat.st_ino) != self._inode:
            # SQLite would go on writing into the file that nobody can find any more.
            raise store_error(f"store {self.path} was replaced or deleted while in use", "start again")
        self._con.execute("BEGIN IMMEDIATE")
        self._next_head = self._head
        try:
            result = run(self._con)
            self._con.execute("COMMIT")
            # Only a commit moves the head: a batch that is tried again gets the same places in the chain.
            self._head, self._registered = self._next_head, self._registered or self._next_head[0] > 0
            return result
        except BaseException:
            if self._con.in_transaction:
                self._con.execute("ROLLBACK")
            raise

    def _run(self, job: Job) -> None:
        run = job.run
        while run is not None and not job.abandoned:
            try:
                result = self._in_transaction(run) if job.writes else run(self._con)
            except Exception as exc:
                if is_busy(exc) and time.monotonic() < self._give_up_at:
                    continue
                job.reply.settle(error=in_words(exc, self.path))
            else:
                job.reply.settle(result)
            return

    def _give_up(self, batch: list[AuditEntry | Job], error: DragomanError) -> None:
        self._fail(error, lost=sum(isinstance(item, AuditEntry) for item in batch))
        for item in batch:
            if isinstance(item, Job):
                refusal = store_error(f"audit record not written: {error}", error.hint)
                item.reply.settle(error=refusal)

    def _fail(self, error: DragomanError, lost: int) -> None:
        with self._lock:
            before = self._failure
            if before is None:
                self._failure = StoreFailure(error=str(error), at=self.clock.now(), lost=lost)
            else:
                self._failure = msgspec.structs.replace(before, lost=before.lost + lost)
        if before is not None:
            return
        if self._on_failure is not None:
            self._on_failure(self._failure)
        else:
            _log.error("%s; audit records are no longer written", error)

    def _sign_off(self) -> None:
        try:
            if self._registered:
                closed = (self.clock.now(), self.writer.writer)
                self._in_transaction(lambda con: con.execute("UPDATE writers SET closed_at = ? WHERE writer = ?", closed))
        except (sqlite3.Error, OSError, DragomanError) as exc:
            _log.debug("store %s: closing time not written: %s", self.path, exc)
        self._con.close()
        if self._failure is not None and self._failure.lost:
            _log.error("store %s: %d audit records were not written: %s", self.path, self._failure.lost, self._failure.error)

    def _end(self) -> None:
        atexit.unregister(self.end_at_exit)
        with self._lock:
            self._ended = True
            replies = self._on_end + self._waiting_for_space
        for reply in replies:
            reply.settle()

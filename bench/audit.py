"""The audit at a size: ``python -m bench.audit --records 1000000`` writes one, then measures search, verify and pruning.

Apart from the rows of ``python -m bench``: it has no peers to be compared with, and needs half a gigabyte of disk.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from dragoman.store import texts
from dragoman.store.chain import COLUMNS, genesis, seal
from dragoman.store.prune import Keep, used_bytes
from dragoman.store.records import AuditEntry
from dragoman.store.schema import open_database
from dragoman.store.search import Query
from dragoman.store.sqlite import SqliteStore
from dragoman.store.verify import verify

WORDS = ("alpha", "beta", "gamma", "delta", "report", "invoice", "customer", "meeting", "budget", "quarter", "server", "folder")
WRITERS = 20
START = 1_790_000_000.0
GOAL_SEARCH_MS, GOAL_VERIFY_PER_S = 200, 50_000

QUERIES: dict[str, Query] = {
    "the newest": Query(),
    "a text that nothing has": Query(text="nothere"),
    "a text that one record has": Query(text="needle in the hay"),
    "a text that many have": Query(text="meeting"),
    "two characters that nothing has": Query(text="zq"),
    "two characters that one record has": Query(text="发票"),
    "a server that nothing has": Query(server="nope"),
    "one turn": Query(turn=f"{100:016x}"),
    "the beginning of a call's id": Query(call=f"{1_000:08x}"),
    "100 s": Query(since=START + 1_000, until=START + 1_100),
    "a common text and a tool": Query(text="meeting", tool="query"),
    "a common text and a server that nothing has": Query(text="meeting", server="nope"),
    "a status": Query(status="refused"),
    "calls without an end": Query(status="unknown"),
}


def fill(path: Path, count: int) -> None:
    """Calls of three records each, as the chain around a call writes them, by writers one after the other."""
    dice = random.Random(1)
    con = open_database(path)
    con.execute("PRAGMA synchronous=OFF")
    insert = f"INSERT INTO audit ({COLUMNS}) VALUES ({', '.join('?' * 16)})"
    done = 0
    for number in range(WRITERS):
        writer = f"{number:032x}"
        seq, prev = 0, genesis(writer)
        con.execute("BEGIN")
        while done < count * (number + 1) // WRITERS:
            for entry in _call(done // 3, dice, needle=done // 3 == count // 6):
                row = seal(entry, writer, seq + 1, prev)
                seq, prev = row.seq, row.hash
                con.execute(insert, row)
                done += 1
        con.execute("INSERT INTO heads VALUES (?, ?, ?)", (writer, seq, prev))
        con.execute("INSERT INTO writers VALUES (?, 1, '', 'nowhere', 'bench', 1, 2)", (writer,))
        con.execute("COMMIT")
    con.close()


def _call(number: int, dice: random.Random, *, needle: bool) -> list[AuditEntry]:
    server, tool = dice.choice(("files", "shop", "git")), dice.choice(("read_file", "query", "log"))
    path, text = f"/home/ada/{dice.choice(WORDS)}/{dice.randrange(10**6)}.txt", " ".join(dice.choices(WORDS, k=12))
    if needle:
        text += " needle in the hay 发票"
    detail = {"arguments": f'{{"path":"{path}","text":"{text}"}}', "arguments_sha256": f"{dice.getrandbits(256):064x}"}
    asked = AuditEntry(
        at=START + number * 0.3,
        event="asked",
        call=f"{number:08x}{dice.getrandbits(64):016x}",
        turn=f"{number // 5:016x}",
        principal="ada",
        tool=f"{server}.{tool}",
        attempt=1,
        detail=detail,
    )
    sending = replace(asked, event="sending", server=server, tool=tool, tier="L0", detail={})
    ended = {"duration_ms": round(dice.random() * 10, 3), "result_bytes": dice.randrange(9_000)}
    return [asked, sending, replace(sending, event="ended", status="ok", detail=ended)]


async def measure(path: Path, runs: int) -> bool:
    """Print every figure; whether the goals hold."""
    holds = True
    async with await SqliteStore.open(path) as store:
        began = time.perf_counter()
        while await store._write(lambda con: texts.index_some(con, 5_000)):
            pass
        print(f"| index of texts | {time.perf_counter() - began:.1f} s |")
        for name, query in QUERIES.items():
            took = []
            for _ in range(runs):
                began = time.perf_counter()
                await store.search(query, 20)
                took.append((time.perf_counter() - began) * 1_000)
            holds &= sorted(took)[len(took) // 2] <= GOAL_SEARCH_MS
            print(f"| search: {name} | median {sorted(took)[len(took) // 2]:.1f} ms, worst {max(took):.1f} ms |")
    began = time.perf_counter()
    report = verify(path)
    speed = report.records / (time.perf_counter() - began)
    print(f"| verify | {speed:,.0f} records/s, {'whole' if report.ok else 'broken'} |")
    async with await SqliteStore.open(path) as store:
        half = await store._read(lambda con: used_bytes(con)) // 2
        began = time.perf_counter()
        done = await store.prune(Keep(days=36_500, max_bytes=half))
        print(f"| prune to half its size | {done.records / (time.perf_counter() - began):,.0f} records/s |")
    return holds and report.ok and verify(path).ok and speed >= GOAL_VERIFY_PER_S


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.db"
        fill(path, asked.records)
        size = path.stat().st_size / 1e6
        print(f"{asked.records:,} records, {size:,.0f} MB, SQLite {sqlite3.sqlite_version}\n\n| what | figure |\n|---|---|")
        holds = asyncio.run(measure(path, asked.runs))
    print(f"\ngoals (search ≤ {GOAL_SEARCH_MS} ms, verify ≥ {GOAL_VERIFY_PER_S:,} records/s): {'hold' if holds else 'missed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

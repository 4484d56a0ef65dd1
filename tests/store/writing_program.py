"""A program that writes audit records until it is done or killed: ``writing_program.py FILE COUNT [MODE]``, count 0 for ever.

Modes: ``plain`` closes; ``forgets`` ends without closing; ``durable`` prints each number once it is committed;
``tiny-disk`` lets no file grow beyond 200 KB and prints what it is told.
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import sys

from dragoman.errors import DragomanError
from dragoman.store.records import AuditEntry
from dragoman.store.sqlite import SqliteStore


def entry(number: int) -> AuditEntry:
    return AuditEntry(at=1_800_000_000.0 + number, event="asked", call=f"c{number}", detail={"number": number, "text": "x" * 100})


async def main(path: str, count: int, mode: str) -> None:
    store = await SqliteStore.open(path)
    print("open", store.writer, flush=True)
    if mode == "tiny-disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    for number in range(1, count + 1) if count else itertools.count(1):
        if mode == "durable":
            await store.append_durably(entry(number))
            print(number, flush=True)
        else:
            await store.append(entry(number))
    if mode == "tiny-disk":
        await store.flush()
        try:
            await store.append_durably(entry(0))
        except DragomanError as exc:
            print("refused", exc, flush=True)
        await store.append(entry(0))
        print("readable", len(await store.tail(5)), flush=True)
        failure = store.failure
        print("lost", failure.lost if failure else None, flush=True)
    if mode != "forgets":
        await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "plain"))

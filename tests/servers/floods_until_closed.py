"""After its first call it writes notifications without end and reads no more, until its stdout breaks or it is killed.

A good client can still close: bounded, without an error, with no process left.
"""

from __future__ import annotations

import os

from _base import Json, dumps, emit, is_call, messages, polite_legacy, raw

NOISE = (dumps({"method": "notifications/message", "params": {"level": "info", "data": "and on"}}) + "\n") * 100


def flood(message: Json) -> None:
    emit({"id": message["id"], **(polite_legacy(message) or {})})
    try:
        while True:
            raw(NOISE)
    except BrokenPipeError:
        os._exit(0)


for message in messages():
    if is_call(message):
        flood(message)
    elif reply := polite_legacy(message):
        emit({"id": message["id"], **reply})

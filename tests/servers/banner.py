"""Prints to stdout what does not belong there, before and between its messages: a banner with colours, a progress bar with
carriage returns, blank lines, bare JSON scalars, an array, half a JSON line, an object that is no message.

A good client skips and counts what is no message, and works.
"""

from __future__ import annotations

from _base import Json, raw, serve


def noise(message: Json) -> bool:
    raw('\n  \n42\nnull\n"ready"\ntrue\nHandling a request...\n{"jsonrpc": "2.0", "id": 1, \n{"level": "info", "msg": "a log line"}\n')
    return False


raw("\u2693 Harbour server 1.0\n\n\x1b[32mready\x1b[0m\nloading 10%\rloading 100%\r\n[]\n}\n")
serve(noise)

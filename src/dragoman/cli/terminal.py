"""The person at the keyboard: asks on ``/dev/tty``, so that it works with stdin and stdout piped, and without holding up a loop."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dragoman.cli.options import Settings
from dragoman.cli.output import warn
from dragoman.wire.escape import escape_for_terminal

if TYPE_CHECKING:
    from dragoman.service.approving import Approver, Decision, Question

TTY = "/dev/tty"
NO_TERMINAL = "there is no terminal to ask on"


def approver_for(settings: Settings) -> Approver:
    """Who answers in this run: ``--yes``, the terminal, or nobody."""
    from dragoman.service.approving import DenyAll, YesApprover, typed_by

    if settings.yes:
        if settings.loaded.config.policy.allow_yes:
            return YesApprover(by=typed_by(terminal=has_terminal()))
        warn("--yes does not count here: policy.allow_yes is false")
    return TerminalApprover(typed_by(terminal=True)) if has_terminal() else DenyAll(NO_TERMINAL)


def has_terminal() -> bool:
    """Whether there is a terminal, and this process may read from it now (it is not in the background)."""
    try:
        fd = os.open(TTY, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(fd)


def confirm(question: str) -> bool | None:
    """Ask yes or no, outside of a loop; anything but yes is no. ``None``: there is no terminal."""
    if not has_terminal():
        return None
    with open(os.open(TTY, os.O_RDWR | os.O_NOCTTY), "r+b", buffering=0) as tty:
        _forget_what_was_typed(tty.fileno())
        tty.write(_encoded(f"{escape_for_terminal(question)} [y/N] "))
        try:
            answer = tty.readline()
        except KeyboardInterrupt:
            tty.write(b"\n")
            raise
    return _is_yes(answer)


class TerminalApprover:
    """Shows a question in words and waits for ``y``; Ctrl-C, end of file and silence are a no.

    Args:
        by: Who sits there, for the audit.
    """

    def __init__(self, by: str) -> None:
        self._by = by
        self._one_at_a_time = asyncio.Lock()

    async def decide(self, question: Question) -> Decision:
        """Answer, in time."""
        from dragoman.service.approving import Decision

        async with self._one_at_a_time:
            if not has_terminal():
                return Decision(verdict="deny", by="nobody", how="nobody", reason=NO_TERMINAL)
            fd = os.open(TTY, os.O_RDWR | os.O_NOCTTY)
            try:
                answer = await _ask(fd, question)
            finally:
                os.close(fd)
        allowed = answer is not None and _is_yes(answer)
        return Decision(verdict="allow" if allowed else "deny", by=self._by, how="terminal")


async def _ask(fd: int, question: Question) -> bytes | None:
    """What was typed; ``None`` for Ctrl-C, end of file, and no answer in time."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes | None] = loop.create_future()

    def settle(line: bytes | None) -> None:
        if not answer.done():
            answer.set_result(line)

    def readable() -> None:
        try:
            settle(os.read(fd, 4096) or None)
        except OSError:
            settle(None)

    left_s = max(0.0, question.expires_at - time.time())
    _forget_what_was_typed(fd)
    give_back = _take_ctrl_c(loop, lambda: settle(None))  # before the question is there: the answer may come at once
    loop.add_reader(fd, readable)
    try:
        text = escape_for_terminal(f"\n{question.tier}: {question.text}\n")
        _write(fd, f"{text}Approve? [y/N] (within {_in_words(left_s)}) ")
        # A second more: the chain has the same deadline, and its word for it is *expired*.
        line = await asyncio.wait_for(answer, left_s + 1.0)
    except (TimeoutError, asyncio.CancelledError) as exc:
        _write(fd, "\nno answer: not approved\n")
        if isinstance(exc, TimeoutError):
            return None
        raise
    finally:
        loop.remove_reader(fd)
        give_back()
    if line is None:
        _write(fd, "\n")
    return line


def _take_ctrl_c(loop: asyncio.AbstractEventLoop, on_signal: Callable[[], None]) -> Callable[[], None]:
    """Let Ctrl-C mean something else until the returned function is called."""
    before = signal.getsignal(signal.SIGINT)
    try:
        loop.add_signal_handler(signal.SIGINT, on_signal)
    except (NotImplementedError, RuntimeError, ValueError):  # not the main thread: Ctrl-C is somebody else's
        return lambda: None

    def give_back() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)

    return give_back


def _forget_what_was_typed(fd: int) -> None:
    """What was typed before the question was there is no answer to it."""
    try:
        import termios

        termios.tcflush(fd, termios.TCIFLUSH)
    except (ImportError, OSError):
        pass
    except Exception as exc:  # termios.error is no OSError
        if type(exc).__name__ != "error":
            raise


def _is_yes(answer: bytes) -> bool:
    return answer.strip().lower() in (b"y", b"yes")


def _write(fd: int, text: str) -> None:
    data = _encoded(text)
    while data:
        data = data[os.write(fd, data) :]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"

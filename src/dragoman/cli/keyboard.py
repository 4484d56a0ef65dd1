"""The person's terminal, ``/dev/tty``: works with stdin and stdout piped, and never holds up a loop. What is asked stands elsewhere."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Self

from dragoman.cli.output import width_of

TTY = "/dev/tty"


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


class Keyboard:
    """The open terminal, for one conversation.

    Raises:
        OSError: There is none.
    """

    def __init__(self) -> None:
        self._fd = os.open(TTY, os.O_RDWR | os.O_NOCTTY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        os.close(self._fd)

    def show(self, text: str, *, hang: str = "  ", whole_words: bool = True) -> None:
        """Print lines, folded to the terminal's width (see :func:`dragoman.cli.fit.fold`). Escape them first."""
        from dragoman.cli.fit import fold

        self.write(fold(text, width_of(self._fd), hang=hang, whole_words=whole_words) + "\n")

    def write(self, text: str) -> None:
        """Print ``text`` as it is."""
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._fd, data) :]

    def prompt(self, text: str) -> None:
        """Forget what was typed so far, which is no answer to what is asked only now, and ask."""
        from dragoman.cli.fit import fold

        self._forget_what_was_typed()
        self.write(f"{fold(text, width_of(self._fd))} ")

    def read(self) -> bytes | None:
        """A line, outside of a loop; ``None`` at the end of file."""
        return os.read(self._fd, 4096) or None

    async def line(self, timeout_s: float | None = None) -> bytes | None:
        """A line as it was typed; ``None`` at the end of file.

        Raises:
            TimeoutError: Nobody typed one in time.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[bytes | None] = loop.create_future()

        def readable() -> None:
            try:
                line = self.read()
            except OSError:
                line = None
            if not answer.done():
                answer.set_result(line)

        loop.add_reader(self._fd, readable)
        try:
            return await asyncio.wait_for(answer, timeout_s)
        finally:
            loop.remove_reader(self._fd)

    def _forget_what_was_typed(self) -> None:
        try:
            import termios

            termios.tcflush(self._fd, termios.TCIFLUSH)
        except (ImportError, OSError):
            pass
        except Exception as exc:  # termios.error is no OSError
            if type(exc).__name__ != "error":
                raise

"""A file for what a server writes on stderr: private, rotated by size, shared by several processes."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


class LogFile:
    """Appends bytes to ``path`` (mode 0600); at ``max_bytes`` it becomes ``path.1`` and so on, and a new one is begun.

    Opened at the first write. Pass ``write`` as a transport's ``stderr_sink``.

    Args:
        path: The folder is made if missing (0700).
        max_bytes: A file is at most this and one write long.
        backups: How many old files are kept; 0 starts over in place.

    Raises:
        OSError: From ``write``, e.g. for a full disk.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int = 1_000_000, backups: int = 1) -> None:
        self.path = Path(path)
        self._max_bytes, self._backups = max_bytes, backups
        self._fd = -1

    def write(self, data: bytes) -> None:
        """Append ``data``, rotating before it if it does not fit."""
        if self._fd < 0:
            self._open()
        size = os.fstat(self._fd).st_size
        if size and size + len(data) > self._max_bytes:
            self._rotate()
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> None:
        """Close the file; a later ``write`` opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)  # a FIFO must not make us wait
        fd = os.open(self.path, flags, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "it is no plain file", str(self.path))
        self._fd = fd
        if os.name == "posix":
            os.fchmod(self._fd, 0o600)  # a file from elsewhere, or an odd umask

    def _rotate(self) -> None:
        try:
            is_current = os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except FileNotFoundError:
            is_current = False
        if is_current:  # else another process has rotated it already
            if self._backups == 0:
                os.ftruncate(self._fd, 0)
                return
            for number in range(self._backups, 0, -1):
                older = self._numbered(number - 1)
                if older.exists():
                    os.replace(older, self._numbered(number))
        self.close()
        self._open()

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path

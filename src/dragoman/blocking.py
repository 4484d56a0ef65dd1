"""``Client`` and ``Host`` for code without ``async``; see :mod:`dragoman.runtime.blocking`."""

from dragoman.runtime.blocking import Client
from dragoman.service.blocking import Host

__all__ = ["Client", "Host"]

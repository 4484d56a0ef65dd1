"""Who we say we are to a configured server, as it is now: read anew from the file, named for a person, never shown."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final

import msgspec

from dragoman.config.load import load_file
from dragoman.config.model import ServerConfig
from dragoman.config.secrets import looks_secret, resolve_server
from dragoman.errors import ConfigError
from dragoman.runtime.standing import Credential
from dragoman.service.context import Context

_VARIABLES: Final = re.compile(r"(?<!\$)\$\{env:([A-Za-z_][A-Za-z0-9_]*)")


class Credentials:
    """The credentials of one server.

    Args:
        server: As it was configured when the host began.
    """

    def __init__(self, server: ServerConfig, context: Context) -> None:
        self._server, self._context = server, context
        # Changes in a project file count only after a person approved them, which takes a new host.
        self._file = server.source.file if server.source is not None and not context.config.project else None
        self._read_ns = self._changed_ns()

    def latest(self) -> ServerConfig:
        """The server with the headers and variables that its file names now; everything else as it was."""
        changed_ns = self._changed_ns()
        if self._file is not None and changed_ns != self._read_ns:
            self._read_ns = changed_ns
            try:
                found = load_file(self._file).servers.get(self._server.name)
            except ConfigError:
                found = None  # half written, perhaps; it is read again when it has changed again
            if found is not None:
                self._server = msgspec.structs.replace(self._server, headers=found.headers, env=found.env)
        return self._server

    def __call__(self) -> Credential:
        """The credential as it is now.

        Raises:
            ConfigError: A variable is not set.
        """
        server = self.latest()
        launch = resolve_server(server, self._context.env, self._context.redactor)
        secret = json.dumps([launch.headers, launch.env, launch.url], sort_keys=True)
        named = {key: value for key, value in server.headers.items() if looks_secret(key) or _VARIABLES.search(value)}
        if "Authorization" in server.headers:
            named = {"Authorization": server.headers["Authorization"], **named}
        parts = [f"the header {key}{_origin(value)}" for key, value in named.items()]
        variables = [name for value in named.values() for name in _VARIABLES.findall(value)]
        again = f"dragoman restart {server.name}"
        where = f"servers.{server.name}.headers" + (f" in {self._file}" if self._file is not None else "")
        if variables:
            renew = f"set {' and '.join(dict.fromkeys(variables))} to a new value, then: {again}"
        elif named:
            renew = f"write a new value for {' and '.join(named)} into {where}, then: {again}"
        else:
            renew = f'write Authorization = "Bearer ..." into {where}, then: {again}'
        return Credential(hashlib.sha256(secret.encode()).hexdigest(), ", ".join(parts) or "no credential", renew)

    def _changed_ns(self) -> int:
        try:
            return self._file.stat().st_mtime_ns if self._file is not None else 0
        except OSError:
            return 0


def _origin(value: str) -> str:
    names = _VARIABLES.findall(value)
    return f" from the variable {' and '.join(names)}" if names else ""

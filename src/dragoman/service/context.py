"""Where a use case runs: environment, working folder, configuration, state folder, and the one redactor of the process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from dragoman.config.load import load
from dragoman.config.model import Config
from dragoman.config.paths import logs_folder, state_home, user_config_path
from dragoman.config.redactor import Redactor
from dragoman.errors import ConfigError
from dragoman.service.scopes import ADHOC, log_file, scope_of

STORE_FILE = "dragoman.db"


class Context:
    """Everything a use case may ask about its surroundings; read when first needed.

    Args:
        config: A configuration file that was named, or ``None`` to look for one.
        env: ``os.environ`` by default.
        cwd: The working folder by default.
        named_by: Who named the file, for errors.

    Attributes:
        remembers_servers: Whether the store learns how its servers are and what they offer.
    """

    remembers_servers = True

    def __init__(
        self,
        config: str | os.PathLike[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        named_by: str = "--config",
    ) -> None:
        self.named = None if config is None else Path(config)
        self.env: Mapping[str, str] = dict(os.environ) if env is None else env
        self.cwd = Path.cwd() if cwd is None else cwd
        self._named_by = named_by
        self.redactor = Redactor()

    @cached_property
    def config(self) -> Config:
        """The configuration; an empty one where there is no file.

        Raises:
            ConfigError: It cannot be read or used.
        """
        return load(self.named, env=self.env, cwd=self.cwd, named_by=self._named_by)

    @cached_property
    def home(self) -> Path:
        """The state folder, created if missing."""
        return state_home(self.env)

    @property
    def store_path(self) -> Path:
        """The database file."""
        return self.home / STORE_FILE

    @cached_property
    def scope(self) -> str:
        """What tells the servers of this configuration from those of others; without a file it is the user's.

        Raises:
            ConfigError: The configuration cannot be read or used.
        """
        try:
            return scope_of(self.config.path or user_config_path(self.env))
        except ConfigError:
            if self.config.path is not None:
                raise
            return "nobody"  # no home folder is known

    def log_path(self, server: str, *, file: Path | None = None, claim: bool = False) -> Path:
        """Where the stderr of a configured server goes.

        Args:
            file: The configuration file it stands in, if not the one in use.
            claim: It is about to be written.
        """
        return log_file(logs_folder(self.home), server, self.scope if file is None else scope_of(file), claim=claim)

    @property
    def adhoc_log_path(self) -> Path:
        """Where the stderr of servers without a configuration goes."""
        return logs_folder(self.home) / f"{ADHOC}.log"

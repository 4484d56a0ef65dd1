"""Skills in use: a ``SKILL.md`` that was loaded, and the files beside it, each verified against the entry that was held.

Nothing is fetched before it is needed. What was not listed is not read, and what differs from what was listed is not handed out.

Source: MCP extension io.modelcontextprotocol/skills, "Integrity and Verification".
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Final

from dragoman.errors import InvalidResult, LocalProtocolError
from dragoman.wire.escape import escape_inline
from dragoman.wire.results import ReadResult
from dragoman.wire.skills import Skill

Read = Callable[[str], Awaitable[ReadResult]]
_CHANGED: Final = "it was changed since it was listed, or tampered with: get_skill() for a fresh entry, and have that agreed to anew"


class LoadedSkill:
    """A skill that is acted on; made by :meth:`dragoman.Client.load_skill`.

    Attributes:
        skill: The entry it was loaded from, which its files are held against for as long as it is used.
        server: What we call the server it came from. Show it wherever the skill is shown: another server may have one of that name.
        text: Its ``SKILL.md``: untrusted instructions, frontmatter included.
    """

    def __init__(self, skill: Skill, server: str, read: Read) -> None:
        self.skill = skill
        self.server = server
        self.text = ""
        self._read = read
        self._kept: dict[str, bytes] = {}

    async def load(self) -> None:
        """Fetch ``SKILL.md`` and verify it.

        Raises:
            InvalidResult: It is not what was listed.
        """
        content = await self.read(self.skill.uri)
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise self._unverified(self.skill.uri, "it is no UTF-8") from None
        if (problem := self.skill.head_problem(text)) is not None:
            raise self._unverified(self.skill.uri, problem)
        self.text = text

    async def read(self, path: str) -> bytes:
        """A file of the skill, fetched when it is first asked for.

        Args:
            path: Relative to its folder, as its instructions name it, or its URI.

        Raises:
            LocalProtocolError: It is not listed; nothing was sent.
            InvalidResult: It is not what was listed. CallFailed: It could not be read.
        """
        skill = self.skill
        if skill.resources == "dynamic":
            uri, file = (path if path.startswith(skill.root) else skill.root + path.removeprefix("./")), None
            if ".." in uri[len(skill.root) :].split("/"):
                raise LocalProtocolError(f"{escape_inline(path)} is outside of the skill {escape_inline(skill.name)}")
        else:
            file = skill.file(path)
            if file is None:
                what = f"{escape_inline(path[:200])} is no file of the skill {escape_inline(skill.name)} of {self.server}"
                raise LocalProtocolError(f"{what} as it was listed; nothing was sent", hint="get_skill() tells whether it has it by now")
            uri = file.uri
        if (kept := self._kept.get(uri)) is not None:
            return kept
        content = self._content(uri, await self._read(uri))
        if file is not None:
            if (problem := file.problem(content)) is not None:
                raise self._unverified(uri, problem)
            self._kept[uri] = content  # within the limits of a skill, which were looked at before
        return content

    def _content(self, uri: str, result: ReadResult) -> bytes:
        parts = [part for part in result.contents if part.uri == uri]
        if len(parts) != 1 or len(result.contents) != 1:
            raise self._unverified(uri, f"the answer has {len(result.contents)} parts, not the one that was asked for")
        (part,) = parts
        if part.text is not None:
            return part.text.encode()
        try:
            return base64.b64decode(part.blob or "", validate=True)
        except binascii.Error:
            raise self._unverified(uri, "its blob is no base64") from None

    def _unverified(self, uri: str, problem: str) -> InvalidResult:
        message = f"{escape_inline(uri[:200])} of {self.server} was not used: {escape_inline(problem)}"
        return InvalidResult(message, server=self.server, hint=_CHANGED)


def check_loadable(skill: Skill, server: str, *, dynamic: bool) -> None:
    """Refuse a skill that cannot be loaded as it is.

    Raises:
        LocalProtocolError: It is too large, or cannot be verified and ``dynamic`` was not agreed to.
    """
    name = f"the skill {escape_inline(skill.name)} of {server}"
    if (problem := skill.too_large) is not None:
        raise LocalProtocolError(f"{name} was not loaded: {problem}")
    if skill.resources == "dynamic" and not dynamic:
        raise LocalProtocolError(
            f"{name} was not loaded: its files are made when they are read, so that none can be verified",
            hint="pass dynamic=True to load it",
        )

"""Skills that a server offers: folders of instructions whose files are resources, listed with their digests.

Everything in an entry is untrusted, and a digest is no proof: whoever sent the file sent the digest too. What it shows is that a
file is the one that was listed, and perhaps agreed to.

Source: MCP extension io.modelcontextprotocol/skills.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, Literal

import msgspec

EXTENSION: Final = "io.modelcontextprotocol/skills"
MAX_FILES: Final = 512
MAX_BYTES: Final = 16 * 2**20
_MAIN: Final = "SKILL.md"
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_STEPS_OUT: Final = re.compile(r"(?:^|/)(?:\.|%2e){1,2}(?:/|$)|[?#\\]", re.IGNORECASE)


class SkillFile(msgspec.Struct, frozen=True):
    """One file of a skill: its URI, ``sha256:`` and the hexadecimal digest of its bytes, and how many they are."""

    uri: str
    digest: str
    size: int

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest):
            raise ValueError("the digest is not sha256: and 64 hexadecimal digits")
        if self.size < 0:
            raise ValueError("the size is negative")

    def problem(self, content: bytes) -> str | None:
        """How ``content`` differs from what was listed, or ``None``."""
        if len(content) != self.size:
            return f"it has {len(content)} bytes, {self.size} were listed"
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        return None if digest == self.digest else f"its digest is {digest[:19]}…, {self.digest[:19]}… was listed"


class Skill(msgspec.Struct, frozen=True):
    """A skill as its server lists it. It is named by its server and ``uri``; ``name`` is a label that others may have too.

    Attributes:
        uri: Of its ``SKILL.md``.
        frontmatter: What stands at the head of that file, ``name`` and ``description`` among it.
        resources: All of its files; ``dynamic`` where they are made when they are read, so that nothing can be verified.
    """

    uri: str
    frontmatter: dict[str, Any]
    resources: tuple[SkillFile, ...] | Literal["dynamic"]

    def __post_init__(self) -> None:
        for key in ("name", "description"):
            if not isinstance(self.frontmatter.get(key), str):
                raise ValueError(f"the frontmatter has no text {key!r}")
        if not self.uri.endswith(f"/{self.name}/{_MAIN}"):
            raise ValueError(f"the uri does not end in /{self.name[:80]}/{_MAIN}")
        if self.resources == "dynamic":
            return
        listed = [file.uri for file in self.resources]
        if len(set(listed)) != len(listed):
            raise ValueError("a file is listed twice")
        if self.uri not in listed:
            raise ValueError(f"its {_MAIN} is not among its files")
        if any(not uri.startswith(self.root) or _STEPS_OUT.search(uri[len(self.root) :]) for uri in listed):
            raise ValueError("a file is outside of its folder")

    @property
    def name(self) -> str:
        """Its label."""
        return str(self.frontmatter["name"])

    @property
    def description(self) -> str:
        """What it is for, as its server says."""
        return str(self.frontmatter["description"])

    @property
    def root(self) -> str:
        """Its folder, with a slash at the end."""
        return self.uri[: -len(_MAIN)]

    @property
    def too_large(self) -> str | None:
        """Why it is more than a client has to take, or ``None``."""
        if self.resources == "dynamic":
            return None
        if len(self.resources) > MAX_FILES:
            return f"it has {len(self.resources)} files, limit {MAX_FILES}"
        size = sum(file.size for file in self.resources)
        return f"its files have {size} bytes, limit {MAX_BYTES}" if size > MAX_BYTES else None

    def file(self, path: str) -> SkillFile | None:
        """The file at a path relative to its folder, or of a URI; ``None`` where it is not listed."""
        uri = path if path.startswith(self.root) else self.root + path.removeprefix("./")
        return next((file for file in self.resources if isinstance(file, SkillFile) and file.uri == uri), None)

    def head_problem(self, text: str) -> str | None:
        """How the head of ``SKILL.md`` differs from ``frontmatter``, or ``None``."""
        from dragoman.wire.frontmatter import frontmatter, same

        try:
            found = frontmatter(text)
        except ValueError as exc:
            return f"its frontmatter cannot be read: {exc}"
        differing = sorted(key for key in found.keys() | self.frontmatter.keys() if not same(found.get(key), self.frontmatter.get(key)))
        if not differing and found.keys() == self.frontmatter.keys():
            return None
        return f"its frontmatter is not what was listed: {', '.join(key[:40] for key in differing[:5]) or 'a key is missing'}"


class _One(msgspec.Struct):
    skill: Skill


def decode_skill(raw: msgspec.Raw | bytes) -> Skill:
    """The result of ``skills/get``."""
    return msgspec.json.decode(raw, type=_One).skill

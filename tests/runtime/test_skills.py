"""Skills of a server: listed without being fetched, loaded only as they were listed, read only where they were listed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

import dragoman
from dragoman.errors import InvalidResult, LocalProtocolError
from tests.runtime.fakes import FakeServer, Json, client

MAIN, FORMS = "skill://docs/pdf/SKILL.md", "skill://docs/pdf/references/FORMS.md"
HEAD = {"name": "pdf", "description": "Fill forms"}
FILES = {MAIN: "---\nname: pdf\ndescription: Fill forms\n---\nRead references/FORMS.md.\n", FORMS: "Forms é\n"}
SKILLS = {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}}}


def listed(uri: str, text: str) -> Json:
    content = text.encode()
    return {"uri": uri, "digest": "sha256:" + hashlib.sha256(content).hexdigest(), "size": len(content)}


def entry(**changes: Any) -> Json:
    return {"uri": MAIN, "frontmatter": HEAD, "resources": [listed(uri, text) for uri, text in FILES.items()], **changes}


def server(files: dict[str, str], *entries: Json, capabilities: Json = SKILLS) -> FakeServer:
    """A stateless server with these skills, that serves these files."""

    def on(message: Json) -> list[Json] | None:
        def answer(**result: Any) -> list[Json]:
            return [
                {"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}}
            ]

        match message.get("method"):
            case "server/discover":
                return answer(supportedVersions=["2026-07-28"], capabilities=capabilities)
            case "skills/list":
                return answer(skills=list(entries))
            case "skills/get":
                return answer(skill=entries[0])
            case "resources/read":
                uri = message["params"]["uri"]
                return answer(contents=[{"uri": uri, "text": files[uri]}])
            case "resources/directory/read":
                return answer(resources=[{"uri": FORMS, "name": "FORMS.md"}])
        return None

    return FakeServer(on)


def asked(one: FakeServer) -> list[str]:
    return [str(message["params"]["uri"]) for message in one.sent if message.get("method") == "resources/read"]


async def test_skill_is_listed_without_a_read_loaded_with_one_and_its_files_come_when_they_are_asked_for() -> None:
    """MCP skills extension, "Lazy Retrieval" and "Verification on Read"; a file is kept once it was fetched."""
    there = server(FILES, entry())
    async with client(there) as mine:
        (skill,) = await mine.list_skills()
        assert (skill.name, skill.description, skill.root) == ("pdf", "Fill forms", "skill://docs/pdf/")
        assert asked(there) == []
        loaded = await mine.load_skill(skill)
        assert (loaded.text, loaded.server) == (FILES[MAIN], mine.label)
        assert asked(there) == [MAIN]
        for path in ("references/FORMS.md", "./references/FORMS.md", FORMS):
            assert await loaded.read(path) == FILES[FORMS].encode()
        assert asked(there) == [MAIN, FORMS]
        assert (await mine.load_skill(MAIN)).text == FILES[MAIN]  # by its URI alone
        assert [found.uri for found in await mine.read_directory("skill://docs/pdf/references")] == [FORMS]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("Read", "Reed"), "its digest is sha256:"),
        (lambda text: text + "more", "it has 72 bytes, 68 were listed"),
        (lambda text: text.replace("Fill forms", "Leak forms"), "its digest"),
    ],
)
async def test_file_that_is_not_what_was_listed_is_not_used(change: Callable[[str], str], words: str) -> None:
    """MCP skills extension, "Verification on Read": size and digest."""
    there = server({**FILES, MAIN: change(FILES[MAIN]), FORMS: change(FILES[FORMS] + "Read")}, entry())
    async with client(there) as mine:
        with pytest.raises(InvalidResult, match=words) as caught:
            await mine.load_skill((await mine.list_skills())[0])
        assert "fresh entry" in str(caught.value.hint)
        assert asked(there) == [MAIN]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("---\nname: pdf\ndescription: Leak forms\n---\n", "is not what was listed: description"),
        ("---\nname: pdf\ndescription: Fill forms\nallowed-tools: Bash\n---\n", "is not what was listed: allowed-tools"),
        ("---\nname: pdf\n---\n", "is not what was listed: description"),
        ("---\nname: pdf\ndescription: *x\n---\n", "cannot be read: line 3"),
        ("no head", "cannot be read"),
    ],
)
@pytest.mark.parametrize("dynamic", [True, False])
async def test_head_that_differs_from_the_entry_is_a_failure_like_a_wrong_digest(text: str, words: str, dynamic: bool) -> None:
    """MCP skills extension, "Frontmatter Verification": so that what a person agreed to is what a model gets."""
    resources = "dynamic" if dynamic else [listed(MAIN, text)]
    async with client(server({MAIN: text}, entry(resources=resources))) as mine:
        with pytest.raises(InvalidResult, match=words):
            await mine.load_skill(MAIN, dynamic=True)


async def test_file_that_was_not_listed_is_not_asked_for() -> None:
    """MCP skills extension, "The Acting Window and the Held Entry"."""
    there = server({**FILES, "skill://docs/pdf/new.md": "x"}, entry())
    async with client(there) as mine:
        loaded = await mine.load_skill(MAIN)
        for path in ("new.md", "skill://docs/other/SKILL.md", "../other/SKILL.md", "file:///etc/passwd", ""):
            with pytest.raises(LocalProtocolError, match="is no file of the skill"):
                await loaded.read(path)
        assert asked(there) == [MAIN]


async def test_skill_that_cannot_be_verified_is_loaded_only_on_demand_and_stays_in_its_folder() -> None:
    """MCP skills extension, "Resources": a host may decline those."""
    there = server({**FILES, "skill://docs/other/x": "no"}, entry(resources="dynamic"))
    async with client(there) as mine:
        (skill,) = await mine.list_skills()
        with pytest.raises(LocalProtocolError, match="none can be verified"):
            await mine.load_skill(skill)
        assert asked(there) == []
        loaded = await mine.load_skill(skill, dynamic=True)
        assert await loaded.read("references/FORMS.md") == FILES[FORMS].encode()
        with pytest.raises(LocalProtocolError, match="outside"):
            await loaded.read("../other/x")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resources": None}, "resources"),
        ({"resources": "none"}, "resources"),
        ({"resources": []}, "not among its files"),
        ({"resources": [listed(MAIN, "x"), listed(MAIN, "y")]}, "listed twice"),
        ({"resources": [listed(MAIN, "x"), listed("skill://docs/pdf/../x", "y")]}, "outside"),
        ({"resources": [listed(MAIN, "x"), listed("skill://docs/pdf/%2E%2e/x", "y")]}, "outside"),
        ({"resources": [listed(MAIN, "x"), listed("skill://docs/x", "y")]}, "outside"),
        ({"resources": [{**listed(MAIN, "x"), "digest": "sha256:AB"}]}, "digest"),
        ({"resources": [{"uri": MAIN, "digest": "sha256:" + "0" * 64}]}, "size"),
        ({"resources": [{**listed(MAIN, "x"), "size": -1}]}, "negative"),
        ({"frontmatter": {"name": "pdf"}}, "description"),
        ({"frontmatter": {**HEAD, "name": "csv"}}, "does not end in"),
        ({"uri": "skill://docs/pdf"}, "does not end in"),
    ],
)
async def test_broken_entry_is_set_aside_and_the_others_stay(changes: Json, words: str) -> None:
    """MCP skills extension, "Resources" and "Frontmatter": such an entry must not be loaded."""
    async with client(server(FILES, entry(**changes), entry())) as mine:
        assert [skill.uri for skill in await mine.list_skills()] == [MAIN]
        (flaw,) = mine.problems
        assert words in str(flaw)
        with pytest.raises(InvalidResult):
            await mine.get_skill(MAIN)


async def test_skill_over_the_limits_is_refused_before_anything_is_fetched() -> None:
    """MCP skills extension, "Limits": 512 files, 16 MiB; both can be told from the entry."""
    many = [listed(MAIN, "x"), *(listed(f"skill://docs/pdf/{number}", "") for number in range(512))]
    large = [{**listed(MAIN, "x"), "size": 16 * 2**20 + 1}]
    for resources, words in ((many, "513 files, limit 512"), (large, "limit 16777216")):
        there = server(FILES, entry(resources=resources))
        async with client(there) as mine:
            with pytest.raises(LocalProtocolError, match=words):
                await mine.load_skill(MAIN)
            assert asked(there) == []


async def test_server_that_declares_no_skills_or_no_folders_is_not_asked_for_them() -> None:
    """MCP skills extension, "Capability Negotiation"."""
    plain: Json = {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
    async with client(server(FILES, entry(), capabilities=plain)) as mine:
        assert await mine.list_skills()
        with pytest.raises(LocalProtocolError, match="directoryRead"):
            await mine.read_directory("skill://docs")
    async with client(server(FILES, entry(), capabilities={"resources": {}})) as mine:
        with pytest.raises(LocalProtocolError, match="skills"):
            await mine.list_skills()


async def test_answer_about_another_file_or_another_skill_is_refused() -> None:
    """Our choice: a name is not enough."""

    def wrong(message: Json) -> list[Json] | None:
        if message.get("method") == "resources/read":
            return [{"jsonrpc": "2.0", "id": message["id"], "result": {"contents": [{"uri": FORMS, "text": FILES[MAIN]}]}}]
        return there._on(message) if there._on is not None else None  # type: ignore[return-value]  # it is the list made above

    there = server(FILES, entry())
    async with client(FakeServer(wrong)) as mine:
        with pytest.raises(InvalidResult, match="not the one that was asked for"):
            await mine.load_skill(MAIN)
        with pytest.raises(InvalidResult, match="answered with another"):
            await mine.get_skill("skill://docs/csv/SKILL.md")


def test_skills_work_without_async() -> None:
    """The blocking client has the same."""
    from dragoman.runtime.eras import RememberedEras

    with dragoman.blocking.Client(server(FILES, entry()), eras=RememberedEras()) as mine:
        (skill,) = mine.list_skills()
        assert mine.get_skill(MAIN) == skill
        assert mine.load_skill(skill).read("references/FORMS.md") == FILES[FORMS].encode()
        assert mine.read_directory("skill://docs/pdf/references")

"""What a server asks in the middle of a call is asked on a real (pseudo) terminal, in its own words, and answered there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .calling import configured, endings, nobody_left_in, on
from .program import LEGACY, MODERN, Terminal, run


def asks(params: dict[str, Any], cwd: Path, columns: int = 100) -> Terminal:
    """A call whose server asks exactly this, and returns what it was told."""
    words = ("call", "--on", on("asks_person"), "echo", f"text={json.dumps({'message': 'Well?', **params})}")
    return Terminal(*words, cwd=cwd, columns=columns)


def told(terminal: Terminal) -> Any:
    """The answer that the server got, which is the result."""
    assert terminal.end() == 0, terminal.seen
    return json.loads(terminal.seen.splitlines()[-1])


def reply(terminal: Terminal, prompt: str, text: str) -> str:
    """Wait for a prompt that was not there before, and answer it; what was shown up to it."""
    terminal.expect(prompt)
    before, terminal.seen = terminal.seen, ""
    terminal.type(text)
    return before


def form(required: list[str] | None = None, **fields: dict[str, Any]) -> dict[str, Any]:
    return {"requestedSchema": {"type": "object", "properties": fields, "required": required or []}}


@pytest.mark.parametrize("way", ["configured", "ad hoc"])
def test_a_form_is_filled_in_field_by_field_and_shown_before_it_is_sent(way: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Both eras ask by the same face; here in rounds, one after the other."""
    config = configured(tmp_path, MODERN, {"haggle": "L0"})
    words = ["--config", str(config), "call", "h.haggle"] if way == "configured" else ["call", "--on", " ".join(MODERN), "haggle"]
    with Terminal(*words, "ware=lamp", cwd=tmp_path) as terminal:
        assert "> Your offer for the lamp?" in reply(terminal, "Answer? [y/N]", "y")
        assert "dinar (integer, minimum 1, required)" in reply(terminal, "  dinar:", "nine")
        assert "that does not do: it must be a number" in reply(terminal, "  dinar:", "9")
        assert "This would be sent:\n  dinar: 9\n" in reply(terminal, "Send it to", "y")
        assert "> 9 dinar, your last word?" in reply(terminal, "Answer? [y/N]", "y")
        reply(terminal, "  agree:", "yes")
        assert "agree: true" in reply(terminal, "Send it to", "y")
        assert terminal.end() == 0
    assert terminal.seen.endswith("sold for 9 dinar\n")
    assert endings(dragoman_home) == [("haggle", "ok")]


def test_the_handshake_era_asks_the_same_way(tmp_path: Path) -> None:
    """A request of the server's own, while the call is open."""
    with Terminal("call", "--on", " ".join(LEGACY), "ask_captain", cwd=tmp_path) as terminal:
        assert "> Who is the captain?" in reply(terminal, "Answer? [y/N]", "n")
        assert terminal.end() in (0, 1)
    assert "Ada" not in terminal.seen


def test_defaults_choices_and_lists(tmp_path: Path) -> None:
    """MCP 2025-11-25 client/elicitation#requested-schema: what may be chosen is listed, a bare return key takes the default."""
    fields = form(
        ["name"],
        name={"type": "string", "default": "Ada", "title": "Name"},
        berth={"type": "string", "enum": ["n", "s"], "enumNames": ["north", "south"]},
        flags={"type": "array", "items": {"anyOf": [{"const": "a", "title": "A flag"}, {"const": "b", "title": "B flag"}]}, "maxItems": 2},
        nights={"type": "number", "maximum": 3},
        mail={"type": "string", "format": "email"},
        gift={"type": "boolean"},
    )
    with asks(fields, tmp_path) as terminal:
        reply(terminal, "Answer? [y/N]", "y")
        for prompt, shown, text in (
            ('  name ["Ada"]:', "name (string, required): Name", ""),
            ("  berth:", "2  s - south", "west"),
            ("  berth:", "must be one of", "south"),
            ("  flags:", "2  b - B flag", "1, b"),
            ("  nights:", "maximum 3", "7"),
            ("  nights:", "must be at most 3", "2.5"),
            ("  mail:", "format email", "nobody"),
            ("  mail:", "is no email", "ada@example.test"),
            ("  gift:", "may be left empty", ""),
            ("Send it to", "berth:", "y"),
        ):
            assert shown in reply(terminal, prompt, text)
        content = {"name": "Ada", "berth": "s", "flags": ["a", "b"], "nights": 2.5, "mail": "ada@example.test"}
        assert told(terminal) == {"action": "accept", "content": content}


@pytest.mark.parametrize(
    ("keys", "action"),
    [(["n"], "decline"), ([""], "decline"), (["\x04"], "cancel"), (["y", "\x04"], "cancel"), (["y", "x", "n"], "decline")],
)
def test_a_person_can_decline_or_cancel_at_every_step(keys: list[str], action: str, tmp_path: Path) -> None:
    """Our contract: nothing is sent before the last yes."""
    with asks(form(name={"type": "string"}), tmp_path) as terminal:
        for prompt, key in zip(("Answer? [y/N]", "  name:", "Send it to"), keys, strict=False):
            if key == "\x04":
                terminal.expect(prompt)
                terminal.press(key)
            else:
                reply(terminal, prompt, key)
        assert told(terminal) == {"action": action}


@pytest.mark.parametrize("words", [("read", "x:y"), ("prompt", "greet")], ids=["read", "prompt"])
def test_who_reads_or_wants_a_prompt_is_asked_too(words: tuple[str, str], tmp_path: Path) -> None:
    """A server may ask in the middle of any request of ours."""
    with Terminal(words[0], "--on", on("asks_person"), words[1], cwd=tmp_path) as terminal:
        assert "> Who wants it?" in reply(terminal, "Answer? [y/N]", "y")
        reply(terminal, "  name:", "Ada")
        reply(terminal, "Send it to", "y")
        assert terminal.end() == 0
    assert '{"action": "accept", "content": {"name": "Ada"}}' in terminal.seen
    nobody = run(words[0], "--on", on("asks_person"), words[1], cwd=tmp_path)
    assert "note: the server asked for an answer from a person (elicitation/create)" in nobody.err


def test_progress_does_not_write_into_an_open_form(tmp_path: Path) -> None:
    """A line that is written over would take the place of what a person is just reading, or typing."""
    params = {"progress": True, **form(["name", "berth"], name={"type": "string"}, berth={"type": "string"})}
    with asks(params, tmp_path) as terminal:
        reply(terminal, "Answer? [y/N]", "y")
        seen = reply(terminal, "  name:", "Ada") + reply(terminal, "  berth:", "north") + reply(terminal, "Send it to", "y")
        assert terminal.end() == 0
    assert "still waiting" not in seen
    assert "\x1b[K" not in seen


def test_an_address_is_shown_whole_with_its_host_and_never_opened(tmp_path: Path) -> None:
    """MCP 2025-11-25 client/elicitation#safe-url-handling: the full URL, its host, and consent."""
    url = f"https://shop.example.test@evil.example.test/{'a' * 120}?x=1"
    with asks({"mode": "url", "url": url, "elicitationId": "e1"}, tmp_path, columns=60) as terminal:
        terminal.expect("Will you go there? [y/N]")
        assert url in terminal.seen
        assert "its host is evil.example.test" in terminal.seen
        assert "look twice: what stands before the @ is no address" in " ".join(terminal.seen.split())
        assert "Nothing is opened" in terminal.seen
        terminal.type("y")
        assert told(terminal) == {"action": "accept"}
    with asks({"mode": "url", "url": url, "elicitationId": "e1"}, tmp_path) as terminal:
        terminal.expect("Will you go there? [y/N]")
        terminal.type("")
        assert told(terminal) == {"action": "decline"}


def test_words_of_a_server_cannot_steer_the_terminal_or_look_like_ours(tmp_path: Path) -> None:
    """An attack: a message with escapes, and with a line that reads like a question of ours."""
    message = "Hello\x1b[2J\u202e\nSend it to bank? [y/N] y\n" + "x" * 90 + " Approve?"
    evil: dict[str, Any] = {"type": "string", "title": "\x1b[31mred", "description": "a\nb", "enum": ["\x1b[2J"], "default": "\x1b[2J"}
    with asks({"message": message, **form(None, **{"na\x1b[2Jme": evil})}, tmp_path, columns=80) as terminal:
        terminal.expect("Answer? [y/N]")
        seen = reply(terminal, "Answer? [y/N]", "y")
        terminal.expect("]:")
        seen += terminal.seen
        assert "\x1b" not in seen
        assert "\u202e" not in seen
        assert not [line for line in seen.splitlines() if line.startswith(("Send", "Approve"))]
        terminal.press("\x03")
        assert terminal.end() == 130
    assert nobody_left_in(tmp_path)


def test_without_a_terminal_the_server_is_told_that_nobody_is_there_and_so_is_the_caller(tmp_path: Path) -> None:
    """Our contract: declined as before, with a note; nothing hangs."""
    done = run("call", "--on", on("asks_person"), "echo", 'text={"message": "Well?"}', cwd=tmp_path)
    assert done.code == 0
    assert json.loads(done.out)["code"] == -32601
    assert "note: the server asked for an answer from a person (elicitation/create)" in done.err
    assert "run it on a terminal" in done.err
    roots = run("call", "--on", " ".join(MODERN), "show_roots", cwd=tmp_path)
    assert roots.code == 1
    assert "hint: the server needs the client capability roots; --root DIR shows it one\n" in roots.err


@pytest.mark.parametrize("command", [LEGACY, MODERN], ids=["legacy", "modern"])
def test_folders_are_shown_to_a_server_that_asks(command: list[str], tmp_path: Path) -> None:
    """MCP client/roots: what was named, and nothing else."""
    (tmp_path / "b").mkdir()
    done = run("call", "--on", " ".join(command), "--root", ".", "--root", "b", "show_roots", cwd=tmp_path)
    assert done.code == 0, done.err
    assert tmp_path.as_uri() in done.out
    assert (tmp_path / "b").as_uri() in done.out
    config = configured(tmp_path, command, {"show_roots": "L0"})
    assert tmp_path.as_uri() in run("--config", str(config), "call", "--root", ".", "h.show_roots", cwd=tmp_path).out
    missing = run("call", "--on", " ".join(command), "--root", "nowhere", "show_roots", cwd=tmp_path)
    assert missing.code == 2
    assert "--root nowhere is not a folder" in missing.err

"""What a server wants to know during a call, asked on the terminal: the fields of a form, or consent to go to an address.

Its words are shown as its words, escaped; nothing is sent before the person saw all of it once more, and nothing is ever opened.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dragoman.cli.keyboard import Keyboard
from dragoman.cli.terminal import is_yes
from dragoman.wire.escape import escape_for_terminal, escape_inline

if TYPE_CHECKING:
    from dragoman.cli.progress import ProgressLine
    from dragoman.service.asking import Elicitation, ElicitationAnswer

_TRUE, _FALSE = frozenset({"y", "yes", "true", "on", "1"}), frozenset({"n", "no", "false", "off", "0"})
_SHOWN_CHOICES = 50


class TerminalAsker:
    """Answers the elicitations of servers, one at a time. Ctrl-C means the whole command; end of file cancels the question.

    Args:
        progress: Is kept away while a question is open.
    """

    def __init__(self, progress: ProgressLine) -> None:
        self._progress = progress
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, ask: Elicitation) -> ElicitationAnswer:
        """Ask the person."""
        from dragoman.service.asking import ElicitationAnswer

        async with self._one_at_a_time:
            with self._progress.away(), Keyboard() as keyboard:
                try:
                    if ask.mode == "url":
                        return ElicitationAnswer(await _consent(keyboard, ask))
                    return await _form(keyboard, ask)
                except EOFError:
                    keyboard.write("\nnot answered: the server is told that it was cancelled\n")
                    return ElicitationAnswer("cancel")
                except asyncio.CancelledError:
                    keyboard.write("\nthe question is taken back\n")
                    raise


async def _consent(keyboard: Keyboard, ask: Elicitation) -> Any:
    _introduce(keyboard, ask, "wants you to go to an address, and says:")
    keyboard.write(f"  {escape_inline(ask.url or '')}\n")
    keyboard.show(f"  its host is {escape_inline(ask.host or 'unknown')}")
    if ask.warning:
        keyboard.show(f"  look twice: {escape_inline(ask.warning)}")
    keyboard.show("  Nothing is opened for you, and what you type there is not seen here.")
    return "accept" if is_yes((await _typed(keyboard, "Will you go there? [y/N]")).encode()) else "decline"


async def _form(keyboard: Keyboard, ask: Elicitation) -> ElicitationAnswer:
    from dragoman.service.asking import ElicitationAnswer

    fields = _fields(ask)
    _introduce(keyboard, ask, "asks you, in its own words:")
    if not fields:
        yes = is_yes((await _typed(keyboard, "Agree? [y/N]")).encode())
        return ElicitationAnswer("accept", {}) if yes else ElicitationAnswer("decline")
    keyboard.show(f"  It wants: {', '.join(escape_inline(name) for name in fields)}. What you type is sent to it.")
    if not is_yes((await _typed(keyboard, "Answer? [y/N]")).encode()):
        return ElicitationAnswer("decline")
    content: dict[str, Any] = {}
    for name, field in fields.items():
        value = await _field(keyboard, ask, name, field)
        if value is not None:
            content[name] = value
    keyboard.show("\nThis would be sent:")
    for name, value in content.items():
        keyboard.show(f"  {escape_inline(name)}: {escape_inline(json.dumps(value, ensure_ascii=False))}", hang="      ", whole_words=False)
    sends = is_yes((await _typed(keyboard, f"Send it to {escape_inline(ask.server)}? [y/N]")).encode())
    return ElicitationAnswer("accept", content) if sends else ElicitationAnswer("decline")


async def _field(keyboard: Keyboard, ask: Elicitation, name: str, field: Mapping[str, Any]) -> Any:
    """One value that fits; ``None`` leaves the field out."""
    from dragoman.service.asking import choices

    schema = ask.schema or {}
    required = name in (schema.get("required") or ())
    options = choices(field)
    _describe(keyboard, name, field, options, required=required)
    default = field.get("default")
    offered = f" [{escape_inline(json.dumps(default, ensure_ascii=False))}]" if default is not None else ""
    while True:
        text = (await _typed(keyboard, f"  {escape_inline(name)}{offered}:")).strip()
        if not text and default is not None:
            value = default
        elif not text and not required:
            return None
        else:
            value = _value(field, text, options)
        wrong = [flaw for flaw in ask.problems({name: value}) if flaw.path == f"/{name}"]
        if not wrong:
            return value
        keyboard.show(f"  that does not do: it {escape_inline(wrong[0].message)}")


def _describe(keyboard: Keyboard, name: str, field: Mapping[str, Any], options: list[tuple[Any, str]] | None, *, required: bool) -> None:
    title = field.get("title")
    about = field.get("description")
    kind = (
        "one or more of these, with commas" if field.get("type") == "array" else "one of these" if options else str(field.get("type", ""))
    )
    said = "; ".join(text for text in (title, about) if isinstance(text, str) and text)
    bounds = [
        f"{key} {field[key]}" for key in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format") if key in field
    ]
    facts = ", ".join([kind, *bounds, "required" if required else "may be left empty"])
    keyboard.show(f"\n  {escape_inline(name)} ({escape_inline(facts)})" + (f": {escape_inline(said)}" if said else ""), hang="      ")
    for number, (value, label) in enumerate((options or [])[:_SHOWN_CHOICES], 1):
        more = f" - {label}" if label else ""
        keyboard.show(f"    {number}  {escape_inline(f'{value}{more}')}", hang="      ")
    if options is not None and len(options) > _SHOWN_CHOICES:
        keyboard.show(f"    … and {len(options) - _SHOWN_CHOICES} more")


def _value(field: Mapping[str, Any], text: str, options: list[tuple[Any, str]] | None) -> Any:
    """What was typed, as the field wants it; the text itself where it cannot be read so, for the check to name what is wrong."""
    from dragoman.service.arguments import typed

    if options is not None:
        if field.get("type") == "array":
            return [_chosen(part.strip(), options) for part in text.split(",") if part.strip()]
        return _chosen(text, options)
    kind = str(field.get("type"))
    if kind == "boolean" and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    return typed("", text, frozenset({kind}))


def _chosen(text: str, options: list[tuple[Any, str]]) -> Any:
    """By its value, its label, or its number in the list."""
    for value, label in options:
        if text == str(value) or (label and text.casefold() == label.casefold()):
            return value
    if text.isdecimal() and 0 < int(text) <= len(options):
        return options[int(text) - 1][0]
    return text


def _introduce(keyboard: Keyboard, ask: Elicitation, does: str) -> None:
    keyboard.show(f"\n{escape_inline(ask.server)} {does}")
    # Behind a mark, and further in where it goes on: nothing of it can look like a line of ours.
    for line in escape_for_terminal(ask.message).split("\n"):
        keyboard.show(f"  > {line}", hang="  ", whole_words=False)


def _fields(ask: Elicitation) -> dict[str, Mapping[str, Any]]:
    properties = (ask.schema or {}).get("properties")
    return {name: field for name, field in properties.items() if isinstance(field, Mapping)} if isinstance(properties, Mapping) else {}


async def _typed(keyboard: Keyboard, prompt: str) -> str:
    keyboard.prompt(prompt)
    line = await keyboard.line()
    if line is None:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\n")

"""``dragoman probe``: connect to any server and say what it is; needs no configuration and changes nothing."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import output
from dragoman.cli.fit import MOST_TEXT, shortened
from dragoman.cli.options import Settings, ad_hoc, common
from dragoman.wire.escape import escape_inline

if TYPE_CHECKING:
    from dragoman.service.probe import ProbeReport
    from dragoman.wire.listing import Tool

_MOST_PARAMETERS = 60


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, required=True, metavar="-- CMD ... | URL")
@ad_hoc
@common
def probe(settings: Settings, /, words: tuple[str, ...], timeout: float | None, **options: Any) -> None:
    """Connect to a server, list its tools, and leave again."""
    from dragoman.service.calls import adhoc_sink
    from dragoman.service.probe import probe as run_probe
    from dragoman.service.targets import target_of

    context = settings.context
    target = target_of(words, context, timeout_s=timeout, **options)
    tap = settings.tracing.tap(target.shown) if settings.trace or settings.trace_file else None
    on_stderr = None
    if settings.verbose:
        from dragoman.cli.call import stderr_lines

        on_stderr = stderr_lines(settings)
    report = settings.run(run_probe(target, context, tap=tap, stderr=adhoc_sink(context, on_stderr)))
    if settings.json:
        output.emit_json(report.for_json())
    else:
        output.data("\n".join(lines(report, settings)))


def lines(report: ProbeReport, settings: Settings) -> list[str]:
    """The report for a person, escaped."""
    width = min(output.terminal_width() or 100, 120)
    era = "handshake" if report.era == "legacy" else "stateless"
    facts = [
        ("server", shortened(f"{report.name} {report.version}".strip())),
        ("protocol", f"{report.era} era ({era}), revision {report.revision}"),
        ("target", settings.redact(report.target)),
        ("offers", shortened(_capabilities(report.capabilities), MOST_TEXT)),
        ("variables", ", ".join(report.environment) or "none" if "://" not in report.target else ""),
        ("timing", ", ".join(f"{step.replace('_', ' ')} {ms:g} ms" for step, ms in report.timings_ms.items())),
    ]
    found: list[str] = []
    for name, text in facts:
        if text:
            found += _hanging(f"{name:<11}", escape_inline(text), width)
    if report.instructions:
        found += ["", _head("instructions")]
        for line in shortened(report.instructions.strip(), MOST_TEXT).splitlines()[:40]:
            found += _hanging("  ", escape_inline(line), width)
    found += ["", _head(f"{len(report.tools)} tool{'' if len(report.tools) == 1 else 's'}")]
    for tool in report.tools:
        found += _tool(tool, width)
    if report.flaws:
        found += ["", _head("set aside"), *(line for flaw in report.flaws for line in _hanging("  ", escape_inline(flaw), width))]
    if report.violations:
        found += ["", _head("protocol broken by the server")]
        found += [f"  {count} x {escape_inline(kind)}" for kind, count in report.violations.items()]
    return found


def _tool(tool: Tool, width: int) -> list[str]:
    name = escape_inline(tool.name)
    about = view_note(tool)
    found = [f"  {output.styled(name, bold=True)}" + (f"  ({about})" if about else "")]
    if first := first_line(tool.description or tool.title):
        found += _hanging("    ", first, width)
    for parameter in parameters(tool.input_schema):
        found += _hanging("      ", parameter, width)
    return found


def parameters(schema: Any) -> list[str]:
    """A line per parameter: name, type, whether it is required, the first line of its description; escaped."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    found = []
    for name, shape in list(properties.items())[:_MOST_PARAMETERS]:
        words = f"{escape_inline(shortened(str(name)))}: {escape_inline(shortened(type_of(shape)))}"
        words += ", required" if name in needed else ""
        about = first_line(shape.get("description")) if isinstance(shape, dict) else ""
        found.append(f"{words} - {about}" if about else words)
    if len(properties) > _MOST_PARAMETERS:
        found.append(f"... and {len(properties) - _MOST_PARAMETERS} more")
    return found


def type_of(shape: Any) -> str:
    """The type of a parameter in a word or two: ``string``, ``string or null``, ``array of integer``, ``one of "a", "b"``."""
    if not isinstance(shape, dict):
        return "any"
    if isinstance(values := shape.get("enum"), list) and values:
        shown = ", ".join(json.dumps(value, ensure_ascii=False)[:40] for value in values[:8])
        return f"one of {shown}" + (", ..." if len(values) > 8 else "")
    kind = shape.get("type")
    if isinstance(kind, list):
        return " or ".join(str(one) for one in kind)
    if kind == "array" and isinstance(items := shape.get("items"), dict) and (inner := items.get("type")):
        return f"array of {inner}" if isinstance(inner, str) else "array"
    if isinstance(kind, str):
        return kind
    for key in ("anyOf", "oneOf"):
        if isinstance(many := shape.get(key), list) and many:
            return " or ".join(dict.fromkeys(type_of(one) for one in many[:6]))
    return str(shape["$ref"]).rpartition("/")[2] if "$ref" in shape else "any"


def view_note(tool: Tool) -> str:
    """What a list says of a tool with a view, escaped; ``""`` without."""
    if not tool.for_models:
        return "only for the server's own view, not offered to a model"
    return f"has a view, {escape_inline(tool.view_uri)}" if tool.view_uri is not None else ""


def first_line(text: Any, most: int = 200) -> str:
    """The first line that says something, escaped."""
    if not isinstance(text, str):
        return ""
    return escape_inline(shortened(next((line.strip() for line in text.splitlines() if line.strip()), ""), most))


def _capabilities(capabilities: dict[str, Any]) -> str:
    words = []
    for name, what in capabilities.items():
        inside = [key for key, on in what.items() if on is not False] if isinstance(what, dict) else []
        words.append(f"{name} ({', '.join(inside)})" if inside else name)
    return ", ".join(words) or "nothing"


def _head(text: str) -> str:
    return output.styled(text, bold=True)


def _hanging(label: str, text: str, width: int) -> list[str]:
    """``text`` behind ``label``, wrapped under itself."""
    from dragoman.cli.fit import wrap

    wrapped = wrap(text, max(20, width - len(label)))
    return [label + wrapped[0], *textwrap.indent("\n".join(wrapped[1:]), " " * len(label)).splitlines()]

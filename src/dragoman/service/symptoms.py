"""From what was seen to what it means: errors, breaches, lists and calls become findings. Pure functions; nothing is asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from dragoman.errors import (
    AuthRequired,
    CallTimeout,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    InvalidResult,
    MalformedResponse,
    ResultTooLarge,
    ServerError,
    SpawnFailed,
    VersionMismatch,
)
from dragoman.policy.schemas import SetAside, make
from dragoman.protocol.events import PeerViolation
from dragoman.service.diagnosis import BREACHES, Diagnosis, Whose
from dragoman.wire.escape import escape_inline
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool

_RUNNERS: Final = frozenset({"npx", "npm", "pnpm", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "pip", "docker", "podman", "deno"})
_OFFLINE: Final = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|network (?:is )?(?:unreachable|request)|dns error|name resolution"
    r"|could not resolve|failed to fetch|error sending request|connection (?:refused|timed out)|no such host",
    re.IGNORECASE,
)
_NO_PACKAGE: Final = re.compile(
    r"\bE404\b|404 Not Found|not found in the package registry|No matching distribution|manifest unknown", re.IGNORECASE
)
_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_MISSING: Final = re.compile(
    r"\b(?:missing|required|not set|unset|not defined|undefined|must be set|no such variable|expected)\b", re.IGNORECASE
)
_NOT_INITIALIZED: Final = re.compile(r"not initialized|uninitialized|before initiali[sz]ation|session", re.IGNORECASE)
_TLS: Final = re.compile(r"\b(?:ssl|tls|certificate)\b", re.IGNORECASE)
_DNS: Final = re.compile(r"name (?:or service not known|resolution)|nodename|getaddrinfo|DNS|cannot be resolved", re.IGNORECASE)
_REFUSED: Final = re.compile(r"refused", re.IGNORECASE)
_CODING: Final = re.compile(r"\bcoded as\b|Content-Encoding|cannot be decoded", re.IGNORECASE)
_KIND: Final = re.compile(r"text/html|text/plain|content type|an answer of type|no Content-Type", re.IGNORECASE)
_REDIRECT: Final = re.compile(r"redirect", re.IGNORECASE)
_LISTED: Final = re.compile(r"(resources|prompts|tools)/list\Z")
_CUT: Final = re.compile(r"ended without|cut|broke|closed|reset|incomplete|stream ended|payload", re.IGNORECASE)
_IDLE: Final = re.compile(r"silen|idle|nothing (?:came|arrived) for", re.IGNORECASE)
_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN: Final = 300


def cut(text: str, most: int = _SHOWN) -> str:
    """Text of a server's on one line, escaped."""
    shown = escape_inline(text)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def of_opening(exc: DragomanError, *, program: str = "", sent: Sequence[str] = ()) -> Diagnosis:
    """Why no connection was made.

    Args:
        program: The program of the command, ``""`` for a URL.
        sent: The methods sent before, in order.
    """
    match exc:
        case VersionMismatch():
            what = f"no revision of the protocol is spoken by both sides: it speaks {cut(', '.join(exc.theirs) or 'nothing we could read')}"
            return _fault("version", "the server", what, exc.hint or "upgrade the older side")
        case SpawnFailed(exit_code=None):
            return _fault("command-missing", "this machine", cut(exc.message), exc.hint or "check the command", exc.stderr_tail)
        case SpawnFailed():
            return _of_exit(exc, program)
        case AuthRequired():
            header = "the header Authorization is missing or not accepted"
            return _fault("credential", "the configuration", f"it wants a credential: {header}", exc.hint or "pass one", exc.message)
        case ConfigError():
            return _fault("configuration", "the configuration", cut(str(exc)), exc.hint or "correct it")
        case ServerError():
            return of_server_error(exc, sent)
        case ConnectFailed():
            return _of_http(exc) if exc.status is not None or not program else _of_silence(exc)
    return _fault("connection", "the server", cut(str(exc)), exc.hint or "see its log")


def _of_exit(exc: SpawnFailed, program: str) -> Diagnosis:
    tail = exc.stderr_tail
    said = "; its last words on stderr say why" if tail.strip() else " and says nothing on stderr"
    what = f"it ends at the start, with status {exc.exit_code}, before it answers{said}"
    if program in _RUNNERS and _OFFLINE.search(tail):
        what = f"{program} cannot reach its package registry, so the server is not even installed"
        return _fault(
            "runner-offline",
            "a proxy or the network",
            what,
            "check the network and proxy variables, or install it once and name its program",
            tail,
        )
    if program in _RUNNERS and _NO_PACKAGE.search(tail):
        return _fault(
            "no-such-package", "the configuration", f"{program} finds no package of this name or version", "check the spelling", tail
        )
    lines = [line for line in tail.splitlines() if _MISSING.search(line)]
    names = list(dict.fromkeys(name for line in lines for name in _VARIABLE.findall(line)))
    if names:
        shown = ", ".join(names[:4])
        what = f"it ends at the start, with status {exc.exit_code}: it seems to want the variable {cut(shown)}"
        return _fault(
            "exits-at-start",
            "the configuration",
            what,
            f"pass it with --env {cut(names[0])} and its value, or env in its configuration",
            tail,
        )
    advice = "run the command by hand; servers get few variables: pass what it needs with --env, or env in its configuration"
    return _fault("exits-at-start", "the server", what, advice, tail)


def _of_silence(exc: ConnectFailed) -> Diagnosis:
    what = "it starts and never answers the handshake" if "did not answer" in exc.message else cut(exc.message)
    advice = exc.hint or "is it an MCP server on stdio? some need a flag such as --stdio"
    return _fault("no-handshake", "the server", what, advice)


def _of_http(exc: ConnectFailed) -> Diagnosis:
    text, status = exc.message, exc.status
    code, whose, what = http_symptom(text, status)
    if _NOT_INITIALIZED.search(exc.body or text) and status in (400, 404, 409):
        code, whose, what = "not-initialized", "the server", "it does not know the session that it should know"
    return _fault(code, whose, what, exc.hint or "is the address right? endpoints often end in /mcp or /sse", text)


def http_symptom(text: str, status: int | None) -> tuple[str, Whose, str]:
    """Code, whose fault, and a sentence for words and a status of HTTP's."""
    if _CODING.search(text):
        return "content-coding", "a proxy or the network", "the body is not coded as its Content-Encoding says, or in a way nobody offered"
    if status is None:
        if _TLS.search(text):
            return "tls", "a proxy or the network", "the encrypted connection cannot be made (certificate, name or version of TLS)"
        if _DNS.search(text):
            return "no-such-host", "the configuration", "the name of the host is not known"
        if _REFUSED.search(text):
            return (
                "refused",
                "this machine" if "127.0.0.1" in text or "localhost" in text else "the server",
                "nothing listens at this address",
            )
        if "messages posted to" in text:
            return "sse-endpoint", "the server", "the old SSE transport names an address for messages that must not be used"
        return "unreachable", "a proxy or the network", "the address cannot be reached, or does not answer"
    if _REDIRECT.search(text):
        return "redirect", "the configuration", "the address leads to another one, which is not followed"
    if 200 <= status < 300 and _KIND.search(text):
        return "content-type", "the server", "it answers with something that is no MCP message: a page, or plain text"
    if 200 <= status < 300:
        return "no-answer", "the server", "its answers end without the message that was asked for"
    if status in (404, 405):
        return "wrong-path", "the configuration", f"HTTP {status}: there is no MCP endpoint at this path"
    if status in (502, 503, 504):
        return "gateway", "a proxy or the network", f"HTTP {status}: something before the server answers in its place, or it is down"
    if status >= 500:
        return "server-failed", "the server", f"HTTP {status}: it fails on the request"
    return "http-status", "the server", f"HTTP {status}: it does not take the request"


def of_server_error(exc: ServerError, sent: Sequence[str] = ()) -> Diagnosis:
    """An error object that says more than that a call failed."""
    if _NOT_INITIALIZED.search(exc.message):
        shown = ", ".join(sent[-4:]) or "nothing"
        what = f"it says it is not initialized, or does not know the session; sent before: {shown}"
        advice = (
            "behind a load balancer every instance must know the session (sticky sessions or shared state); "
            "else it lost its memory: restart it"
        )
        return _fault("not-initialized", "the server", what, advice, exc.message)
    return _fault("error-answer", "the server", f"it answers with error {exc.code}", exc.hint or "see its log", exc.message)


def of_breaches(counts: dict[str, int], first: dict[str, PeerViolation], *, connected: bool, on_http: bool) -> list[Diagnosis]:
    """What the breaches of the protocol mean, one finding for each sort."""
    found: dict[str, Diagnosis] = {}
    for word, count in counts.items():
        seen = first.get(word)
        kind = BREACHES.get(word)
        sample = repr(seen.sample[:120])[1:] if seen is not None and seen.sample else ""
        evidence = f"{count} times; the first: {cut(seen.detail) if seen is not None else word}" + (f": {cut(sample)}" if sample else "")
        if kind is None:
            found.setdefault(
                word,
                Diagnosis(
                    code=word,
                    weight="warning",
                    whose="the server",
                    what=f"it broke the protocol: {word}",
                    advice="see the trace (--trace)",
                    evidence=evidence,
                ),
            )
            continue
        code, what = kind.code, kind.what
        if code == "polluted-stdout" and on_http:
            code, what = "no-message", "it sends what are no messages"
        weight = kind.weight if connected or kind.weight != "warning" else "fault"
        found.setdefault(code, Diagnosis(code=code, weight=weight, whose="the server", what=what, advice=kind.advice, evidence=evidence))
    return list(found.values())


def of_tools(tools: Sequence[Tool], flaws: Iterable[Flaw]) -> list[Diagnosis]:
    """What is wrong with a list of tools."""
    found = [_of_flaw(flaw, "tools/list") for flaw in flaws]
    names = [tool.name for tool in tools]
    endless = any(one.code == "endless-list" for one in found)
    if not endless and (twice := sorted({name for name in names if names.count(name) > 1})[:5]):
        found.append(
            _fault(
                "duplicate-tools",
                "the server",
                f"tools of one name are listed twice: {cut(', '.join(twice))}",
                "give each a name of its own",
            )
        )
    if odd := [name for name in names if not _MODEL_NAME.fullmatch(name)][:5]:
        what = f"names that models refuse: {cut(', '.join(repr(name) for name in odd))}"
        advice = "letters, digits, _ and -, at most 64; here they are translated, other clients drop the tool or all tools"
        found.append(Diagnosis(code="tool-names", weight="warning", whose="the server", what=what, advice=advice))
    if plain := [tool.name for tool in tools if _has_plain_schemas(tool)][:5]:
        what = f"schemas with true or false in place of a schema: {cut(', '.join(plain))}"
        advice = "they are allowed; write {} for true where clients refuse them"
        found.append(Diagnosis(code="plain-schemas", weight="note", whose="nobody", what=what, advice=advice))
    for tool in tools:
        for side, schema in (("inputSchema", tool.input_schema), ("outputSchema", tool.output_schema)):
            if schema is not None and isinstance(bad := make(schema), SetAside):
                what = f"the {side} of {cut(tool.name, 80)} cannot be used: {cut(bad.reason)}"
                advice = "correct the schema; until then what it should check is not checked"
                found.append(Diagnosis(code="schema", weight="warning", whose="the server", what=what, advice=advice))
    return found


def _has_plain_schemas(tool: Tool) -> bool:
    members = tool.input_schema.get("properties") if isinstance(tool.input_schema, dict) else None
    return tool.input_schema is True or (isinstance(members, dict) and any(isinstance(schema, bool) for schema in members.values()))


def _of_flaw(flaw: Flaw, method: str) -> Diagnosis:
    text = cut(str(flaw))
    if "nextCursor" in flaw.path:
        return _fault(
            "endless-list", "the server", f"its list never ends: {text}", "send no nextCursor on the last page, and never the same twice"
        )
    what = f"a part of {method} is broken and was set aside: {text}"
    return Diagnosis(code="set-aside", weight="warning", whose="the server", what=what, advice="correct it; the rest works")


def of_call(tool: str, exc: DragomanError, *, on_http: bool) -> Diagnosis:
    """Why a call that was tried has no result."""
    name = cut(tool, 80)
    match exc:
        case CallTimeout():
            what = f"a call of {name} gets no answer within {exc.after_s:g} s"
            return _fault(
                "no-answer-to-call",
                "the server",
                what,
                exc.hint or "it hangs, or answers under another id; see its log and the trace",
                exc.message,
            )
        case ResultTooLarge():
            return _fault("too-large", "the server", f"the result of {name} is over the limit", exc.hint or "page or cut it", exc.message)
        case MalformedResponse():
            return _fault(
                "unreadable-answer",
                "the server",
                f"the answer to a call of {name} cannot be read",
                "correct the JSON it writes",
                exc.message,
            )
        case InvalidResult():
            what = f"the result of {name} is not what it promises"
            return _fault("result", "the server", what, exc.hint or "make the result fit the protocol and its outputSchema", exc.message)
        case ServerError(code=-32601) if _LISTED.fullmatch(tool):
            what = f"it offers {tool.partition('/')[0]} and does not know {name}"
            return Diagnosis(code="offers-what-it-lacks", weight="warning", whose="the server", what=what, advice="offer only what it has")
        case ServerError():
            return of_server_error(exc)
        case ConnectionLost():
            return _of_loss(name, exc, on_http)
        case AuthRequired() | ConnectFailed():
            return of_opening(exc)
    return _fault("call", "the server", f"a call of {name} fails", exc.hint or "see its log", str(exc))


def _of_loss(name: str, exc: ConnectionLost, on_http: bool) -> Diagnosis:
    text = exc.message
    if not on_http:
        what = f"it ends in the middle of a call of {name}"
        return _fault("dies-in-call", "the server", what, "see its log; the call may have run", text)
    found = re.search(r"HTTP (\d{3})", text)
    status = int(found[1]) if found else None
    if _IDLE.search(text):
        what = f"a call of {name} was given up by us: the stream was silent for longer than idle_s"
        return _fault("our-idle-limit", "the configuration", what, "raise idle_s, or have the server send progress or comments", text)
    if status is not None and status >= 300:
        code, whose, what = http_symptom(text, status)
        return _fault(code, whose, f"a call of {name}: {what}", exc.hint or "its log says more", text)
    if _CODING.search(text) or _KIND.search(text):
        code, whose, what = http_symptom(text, status if status is not None else 200)
        return _fault(code, whose, f"a call of {name}: {what}", exc.hint or "its log says more", text)
    if _CUT.search(text):
        what = f"the answer to a call of {name} is cut before its end"
        advice = "raise the time-outs before the server, or send events with ids so that a stream can be resumed"
        return _fault("stream-cut", "the server", what, advice, text)
    return _fault("call-lost", "the server", f"the answer to a call of {name} is lost", exc.hint or "its log says more", text)


def _fault(code: str, whose: Whose, what: str, advice: str, evidence: str = "") -> Diagnosis:
    lines = [line for line in evidence.strip().splitlines() if line.strip()]
    shown = cut(" | ".join(lines[-6:])) if lines else ""
    return Diagnosis(code=code, weight="fault", whose=whose, what=what, advice=cut(advice, 400), evidence=shown)

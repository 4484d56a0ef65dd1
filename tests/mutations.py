"""Small ways to break what the specification wants, each under the requirement whose tests have to notice: for `scripts/break_it.py`.

A mutation replaces one exact text, which stands in its file exactly once, so a change of the code that touches it is noticed too.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Mutation(NamedTuple):
    """One broken behaviour.

    Attributes:
        requirement: The id in the manifest; the tests it names have to fail.
        file: Below src/dragoman.
        old: What stands there.
        new: What is put in its place.
        breaks: What that does, in words.
    """

    requirement: str
    file: str
    old: str
    new: str
    breaks: str


MUTATIONS: Final = (
    Mutation(
        "R-FRAME-03", "protocol/pending.py", "self._next = request_id + 1", "self._next = request_id", "every request has the same id"
    ),
    Mutation(
        "R-FRAME-05",
        "protocol/answers.py",
        "error is UNSET and result is not UNSET and (via is None or via == stated)",
        "error is UNSET and result is not UNSET",
        "an answer on another request's stream is believed",
    ),
    Mutation(
        "R-FRAME-09",
        "protocol/inbound.py",
        'if text.startswith("[") and text.count(",") <= _MAX_COMMAS:',
        "if False:",
        "batches are not taken apart",
    ),
    Mutation(
        "R-FRAME-14",
        "runtime/session.py",
        'if head.resultType in (None, "complete") or',
        'if head.resultType != "input_required" or',
        "a resultType that is unknown is taken for a result",
    ),
    Mutation(
        "R-FRAME-19",
        "protocol/asks.py",
        "elif self.modern_client:",
        "elif False:",
        "requests of a server of the stateless era are answered",
    ),
    Mutation(
        "R-LIFE-02",
        "protocol/connection.py",
        'self._actions.append(Send(encode(Notification(INITIALIZED)), None, headers, "confirms"))',
        "pass",
        "the handshake is not confirmed",
    ),
    Mutation(
        "R-LIFE-15",
        "protocol/handshake.py",
        "listed = _listed(refusal)\n        theirs",
        "if error is not None and error.code != -32601:\n            return self._fail(refusal.failure())\n"
        "        listed = _listed(refusal)\n        theirs",
        "only -32601 means legacy",
    ),
    Mutation(
        "R-LIFE-22",
        "protocol/handshake.py",
        "            return  # a slow modern server refuses this and answers the probe, in either order",
        "            pass",
        "a refused initialize ends it while the probe is under way",
    ),
    Mutation(
        "R-VER-06",
        "protocol/handshake.py",
        "if revision is not None and self._version_retries < _MAX_VERSION_RETRIES:\n                self._version_retries += 1\n"
        "                self._send_probe(revision)",
        "if revision is not None:\n                self._send_probe(revision)",
        "a server that refuses what it lists is asked for ever",
    ),
    Mutation(
        "R-VER-01",
        "protocol/handshake.py",
        "if isinstance(revision, str) and revision in self._legacy:",
        "if isinstance(revision, str):",
        "a revision that we do not speak is agreed to",
    ),
    Mutation(
        "R-CAP-06",
        "protocol/connection.py",
        "if method not in self._permits.allowed and not force:",
        "if False:",
        "what the server did not declare is used",
    ),
    Mutation("R-META-04", "protocol/stamp.py", "merged.update(self._meta)", "pass", "requests with a token lack revision and capabilities"),
    Mutation(
        "R-META-06",
        "protocol/stamp.py",
        "merged.update(_decode_params(own))",
        "pass",
        "metadata of the caller is dropped where it is forwarded",
    ),
    Mutation(
        "R-CANCEL-01",
        "protocol/connection.py",
        'if self.state == "open" and not (self._stamp.modern and self.traits.cancel_closes_stream):\n            self.notify(',
        "if False:\n            self.notify(",
        "the server is not told of a cancellation",
    ),
    Mutation(
        "R-CANCEL-02",
        "protocol/connection.py",
        "            self._actions.append(CloseStream(request_id))\n        if self.state",
        "        if self.state",
        "a cancelled request keeps its stream",
    ),
    Mutation(
        "R-CANCEL-05",
        "protocol/notices.py",
        'self._emit(AskCancelled(request_id, note.reason if isinstance(note.reason, str) else ""))',
        "pass",
        "a handler goes on after the server took its question back",
    ),
    Mutation("R-CANCEL-06", "protocol/notices.py", "entry.method == _LISTEN", "True", "a server may cancel any request of ours"),
    Mutation(
        "R-PROG-02",
        "protocol/notices.py",
        'self._emit(PeerViolation("stray-progress"',
        'raise RuntimeError(PeerViolation("stray-progress"',
        "progress that nobody asked for ends the connection",
    ),
    Mutation("R-HTTPM-05", "protocol/stamp.py", 'found.append(("Mcp-Name", header_value(value)))', "pass", "Mcp-Name is missing"),
    Mutation(
        "R-HTTPM-07",
        "protocol/stamp.py",
        'return f"=?base64?{base64.b64encode(value.encode()).decode()}?="',
        "return value",
        "names that are no ASCII go out as they are",
    ),
    Mutation("R-HTTPM-08", "protocol/stamp.py", " and not _LOOKS_ENCODED.fullmatch(value)", "", "what looks encoded is not encoded"),
    Mutation("R-HTTPM-13", "runtime/mirrors.py", "if name.lower() in taken:", "if False:", "two arguments share a header"),
    Mutation(
        "R-HTTPM-15",
        "runtime/mirrors.py",
        "if isinstance(value, int) and abs(value) > _MAX_INT:",
        "if False:",
        "any number goes into a header",
    ),
    Mutation("R-HTTPM-18", "runtime/mirrors.py", "await list_again()", "pass", "refused headers are not made anew"),
    Mutation(
        "R-HTTPM-23",
        "protocol/sse.py",
        "elif line.startswith(_DATA):\n            self._add_data(line[_value_at",
        'elif line.startswith((_DATA, b":")):\n            self._add_data(line[_value_at',
        "comments of an event stream are taken for data",
    ),
    Mutation(
        "R-HTTPL-07",
        "protocol/sse.py",
        "self._retry = self.retry_ms = int(value)",
        "self._retry = int(value)",
        "the time to wait is not kept",
    ),
    Mutation(
        "R-HTTPL-15",
        "transports/http.py",
        "headers[SESSION] = self._session_id\n        response",
        "pass\n        response",
        "the session id is not sent",
    ),
    Mutation(
        "R-HTTPL-18",
        "transports/http.py",
        "if self._session_id is not None:\n                await self._end_session",
        "if False:\n                await self._end_session",
        "sessions are left open",
    ),
    Mutation(
        "R-HTTPL-08",
        "protocol/streams.py",
        "self._act(Resume(via, course.last_event_id,",
        'self._act(Resume(via, "",',
        "a stream is continued from its beginning",
    ),
    Mutation("R-TOOL-03", "runtime/listing.py", '{"cursor": cursor}', '{"cursor": cursor.strip()}', "cursors are tidied up"),
    Mutation(
        "R-TOOL-04",
        "runtime/listing.py",
        "if cursor is None or not (cursor or empty_cursor):",
        "if not cursor:",
        "an empty cursor ends a listing",
    ),
    Mutation(
        "R-TOOL-18",
        "wire/results.py",
        "return self._structured is not UNSET",
        "return self.structured is not None",
        "null is taken for absence",
    ),
    Mutation(
        "R-ICON-02", "wire/icons.py", '_SAFE: Final = ("https:", "data:")', '_SAFE: Final = ("http", "data:")', "icons come from anywhere"
    ),
    Mutation("R-CACHE-02", "runtime/caching.py", "if cache._clock.monotonic() < entry.until:", "if True:", "what is kept never grows old"),
    Mutation(
        "R-CACHE-03",
        "runtime/caching.py",
        '"public" if scope == "public" else self._owner)',
        '"public")',
        "private results are shared",
    ),
    Mutation(
        "R-CACHE-06",
        "runtime/caching.py",
        "del cache._entries[key]\n\n\ndef is_within",
        "pass\n\n\ndef is_within",
        "a notice of a change drops nothing",
    ),
    Mutation(
        "R-MRTR-04",
        "runtime/session.py",
        'body["requestState"] = head.requestState',
        'body["requestState"] = "x"',
        "the state of a round is not returned",
    ),
    Mutation("R-MRTR-08", "runtime/session.py", "for _ in range(MAX_ROUNDS - 1):", "for _ in range(10_000):", "rounds have no end"),
    Mutation(
        "R-SUB-04",
        "runtime/subscriptions.py",
        "and not ours and stated is not UNSET:",
        "and False:",
        "changes of another subscription are told",
    ),
    Mutation(
        "R-ELIC-04", "runtime/asking.py", "if mode not in self._modes():", "if False:", "a mode that was not declared reaches the handler"
    ),
    Mutation(
        "R-ELIC-09", "runtime/asking.py", "if problems := flaws_of_content(form, content):", "if problems := []:", "answers are not checked"
    ),
    Mutation(
        "R-SAMP-10", "runtime/asking.py", "return ErrorBody(DECLINED,", "return ErrorBody(INTERNAL_ERROR,", "a no has no code of its own"
    ),
    Mutation(
        "R-SAMP-03",
        "runtime/asking.py",
        'tools=bool(getattr(handler, "tools", False))',
        "tools=True",
        "tools are let through to any handler",
    ),
    Mutation(
        "R-FRAME-20",
        "runtime/asking.py",
        "return ErrorBody(METHOD_NOT_FOUND,",
        "return ErrorBody(-32000,",
        "what we do not offer has another code",
    ),
    Mutation(
        "R-STDIO-07",
        "transports/process.py",
        "self.close_stdin()\n            self._signal(signal.SIGTERM)",
        "self._signal(signal.SIGKILL)",
        "a server is killed before it is asked",
    ),
    Mutation("R-ELIC-08", "runtime/forms.py", "is None}, **content}", "is None and False}, **content}", "defaults are not filled in"),
    Mutation("R-TASKX-02", "runtime/session.py", ' and method == "tools/call")', ")", "any method may answer with a task"),
    Mutation("R-FRAME-08", "protocol/connection.py", "elif request_id is UNSET:", "elif False:", "notices are answered"),
    Mutation("R-PING-01", "runtime/asking.py", 'case "ping":', 'case "pong":', "pings are refused"),
)

"""What a replayed server says to what: matching, order, ids, and words for what was never recorded."""

from __future__ import annotations

import json
from typing import Any

from dragoman.transports.replay import Line, Script
from dragoman.transports.transcript import Entry, Side, Transcript

Json = dict[str, Any]


def script(*said: tuple[str, Any], kind: str = "stdio") -> Script:
    """A transcript of ``("client" | "server", message or text)``; ten milliseconds between each."""
    entries = []
    for index, (side, what) in enumerate(said):
        whose: Side = "client" if side == "client" else "server"
        more = {"text": what} if isinstance(what, str) else {"message": what}
        entries.append(Entry(index * 10.0, whose, **more))
    return Script(Transcript({"target": {"kind": kind}}, tuple(entries)))


def asks(request_id: Any, method: str, **params: Any) -> tuple[str, Json]:
    return "client", {"id": request_id, "method": method, "params": params}


def says(request_id: Any, result: Any) -> tuple[str, Json]:
    return "server", {"id": request_id, "result": result}


def heard(lines: list[Line]) -> list[Any]:
    return [json.loads(line.data) for line in lines]


def test_answers_follow_method_and_params_in_order_with_the_ids_of_now() -> None:
    """docs/record-replay.md."""
    play = script(asks(1, "a", x=1), says(1, "first"), asks(2, "a", x=2), says(2, "other"), asks(3, "a", x=1), says(3, "second"))
    assert heard(play.take({"id": "q", "method": "a", "params": {"x": 1, "_meta": {"k": 1}}}).lines) == [{"id": "q", "result": "first"}]
    assert heard(play.take({"id": 9, "method": "a", "params": {"x": 1}}).lines) == [{"id": 9, "result": "second"}]
    assert heard(play.take({"id": 10, "method": "a", "params": {"x": 2}}).lines) == [{"id": 10, "result": "other"}]


def test_what_was_not_recorded_is_refused_in_words() -> None:
    """docs/record-replay.md: a method, params, or once more than then."""
    play = script(asks(1, "a", x=1), says(1, "first"))
    unknown, other = play.take({"id": 1, "method": "b"}), play.take({"id": 2, "method": "a", "params": {"x": 2}})
    play.take({"id": 3, "method": "a", "params": {"x": 1}})
    again = play.take({"id": 4, "method": "a", "params": {"x": 1}})
    [[one], [two], [three]] = [[message["error"] for message in heard(taken.lines)] for taken in (unknown, other, again)]
    assert (one["code"], one["message"]) == (-32601, "Method not found: b is not in this transcript")
    assert (two["code"], two["message"]) == (-32602, 'replay: none of the 1 recorded a requests has these params: {"x": 2}')
    assert three["message"] == "replay: a with these params was recorded 1 x and asked for once more"
    assert "one JSON object" in heard(play.take([]).lines)[0]["error"]["message"]


def test_handshake_and_lists_may_be_asked_for_again() -> None:
    """Our choice: a client that connects again says them again, whoever it is."""
    play = script(asks(1, "initialize", clientInfo="a"), says(1, "hello"), asks(2, "tools/list"), says(2, "tools"))
    for request_id in (1, 2):
        assert heard(play.take({"id": request_id, "method": "initialize", "params": {"clientInfo": "b"}}).lines)[0]["result"] == "hello"
        assert heard(play.take({"id": request_id, "method": "tools/list", "params": {}}).lines)[0]["result"] == "tools"


def test_progress_has_the_token_of_now_and_is_left_out_where_none_is_wanted() -> None:
    """MCP basic/utilities/progress: no token, no progress."""
    progress = ("server", {"method": "notifications/progress", "params": {"progressToken": 7, "progress": 1}})
    said = (asks(1, "a", _meta={"progressToken": 7}), progress, says(1, "done"))
    with_token = script(*said).take({"id": 5, "method": "a", "params": {"_meta": {"progressToken": "t"}}})
    assert heard(with_token.lines)[0]["params"]["progressToken"] == "t"
    assert [message.get("method") for message in heard(script(*said).take({"id": 5, "method": "a"}).lines)] == [None]


def test_notices_come_at_their_place_and_noise_stays_noise() -> None:
    """docs/record-replay.md: what belongs to no request follows the message of the client before it."""
    notice = ("server", {"method": "notifications/tools/list_changed"})
    play = script(("server", "banner"), asks(1, "a"), notice, says(1, "x"), ("client", {"method": "n"}), ("server", {"method": "later"}))
    assert [line.data for line in play.begin()] == [b"banner"]
    assert [message.get("method") for message in heard(play.take({"id": 1, "method": "a"}).lines)] == [
        "notifications/tools/list_changed",
        None,
    ]
    assert play.take({"method": "never"}).lines == []
    assert heard(play.take({"method": "n"}).lines) == [{"method": "later"}]


def test_answer_behind_a_question_waits_for_the_answer_to_the_question() -> None:
    """A tool that asks the person: the result comes after the answer, whatever it is this time."""
    play = script(asks(1, "a"), ("server", {"id": "q", "method": "elicitation/create"}), ("client", {"id": "q", "result": 1}), says(1, "x"))
    assert [message.get("method") for message in heard(play.take({"id": 4, "method": "a"}).lines)] == ["elicitation/create"]
    assert heard(play.take({"id": "q", "error": {}}).lines) == [{"id": 4, "result": "x"}]
    assert play.take({"id": "q", "result": 1}).lines == []


def test_requests_that_overlapped_need_not_do_so_again() -> None:
    """Our choice: an answer needs its own request and nothing else."""
    play = script(asks(1, "a"), asks(2, "b"), says(2, "of b"), says(1, "of a"))
    taken = play.take({"id": 1, "method": "a"})
    assert heard(taken.lines) == [{"id": 1, "result": "of a"}]
    assert taken.lines[0].delay_s == 0.03


def test_server_that_ended_by_itself_ends_again() -> None:
    """A crash is part of what was recorded."""
    entries = (Entry(0, "client", {"id": 1, "method": "a"}), Entry(5, "server", end="exited with status 70"))
    play = Script(Transcript({}, entries))
    [line] = play.take({"id": 1, "method": "a"}).lines
    assert (line.end, line.owner) == ("exited with status 70", None)


def test_lone_surrogates_go_back_as_they_came() -> None:
    """Bytes that are no UTF-8 would be another message than the recorded one."""
    play = script(asks(1, "a"), says(1, "\ud800"))
    assert play.take({"id": 1, "method": "a"}).lines[0].data == b'{"id":1,"result":"\\ud800"}'

"""The same client for code without async, against real processes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman import ElicitationAnswer, Progress
from dragoman.blocking import Client
from dragoman.errors import CallTimeout, LocalProtocolError, SpawnFailed
from dragoman.runtime import blocking as module
from dragoman.runtime.client import Client as AsyncClient
from dragoman.runtime.eras import RememberedEras
from tests.runtime.fakes import demo, odd, press_ctrl_c


@pytest.fixture(params=["legacy", "modern"])
def target(request: pytest.FixtureRequest) -> list[str]:
    return demo(request.param)


def client(target: list[str], **options: Any) -> Client:
    return Client(target, **{"eras": RememberedEras(), **options})


def test_everything_a_server_offers(target: list[str]) -> None:
    with client(target) as mine:
        assert mine.server.name in ("harbour", "bazaar")
        assert len(mine.list_tools()) > 8
        seen: list[Progress] = []
        assert mine.call_tool("count", {"to": 2}, on_progress=seen.append).text == "1 2"
        assert [progress.progress for progress in seen] == [1, 2]
        resources = mine.list_resources()
        assert mine.read_resource(resources[0].uri).contents
        (template, *_) = mine.list_resource_templates()
        variable = template.uri_template.split("{")[1].rstrip("}")
        assert mine.complete({"type": "ref/resource", "uri": template.uri_template}, variable, "").values
        (prompt, *_) = mine.list_prompts()
        assert prompt.arguments
        assert "Petrel" in mine.get_prompt(prompt.name, {prompt.arguments[0].name: "Petrel"}).text
        mine.ping()
        mine.set_log_level("info")
        with pytest.raises(CallTimeout):
            mine.call_tool("slow", {"seconds": 60}, timeout_s=0.05)
    mine.close()


def test_several_threads_use_one_client_at_once(target: list[str]) -> None:
    texts: list[str] = []
    with client(target) as mine:
        threads = [threading.Thread(target=lambda n=n: texts.append(mine.call_tool("echo", {"text": str(n)}).text)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert sorted(texts) == list("01234567")


def test_opened_in_one_thread_and_closed_in_another(target: list[str]) -> None:
    mine = client(target).open()
    thread = threading.Thread(target=mine.close)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def test_handler_that_calls_back_is_refused_and_nothing_hangs() -> None:
    """It runs on the loop; the async client is for that."""
    errors: list[LocalProtocolError] = []

    def answer(ask: Any) -> ElicitationAnswer:
        try:
            mine.call_tool("echo", {"text": "inside"})
        except LocalProtocolError as exc:
            errors.append(exc)
        return ElicitationAnswer("decline")

    with client(demo("legacy"), on_elicitation=answer) as mine:
        mine.call_tool("ask_captain")
    assert len(errors) == 1


def test_ctrl_c_in_a_call_tells_the_server_and_the_client_goes_on() -> None:
    sent: list[bytes] = []

    def tap(direction: str, message: bytes | bytearray) -> None:
        if direction == "→":
            sent.append(bytes(message))
            if b'"slow"' in message:
                press_ctrl_c()

    with client(demo("legacy"), on_wire=tap) as mine:
        with pytest.raises(KeyboardInterrupt):
            mine.call_tool("slow", {"seconds": 60})
        assert mine.call_tool("echo", {"text": "still here"}).text == "still here"
        assert any(b"notifications/cancelled" in message for message in sent)


def test_ctrl_c_while_it_opens_leaves_no_process() -> None:
    """The guard of every test looks."""

    def tap(direction: str, message: bytes | bytearray) -> None:
        press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        client(odd("hangs"), on_wire=tap).open()


def test_server_that_does_not_start_raises_what_the_async_client_raises() -> None:
    with pytest.raises(SpawnFailed, match="HARBOUR_KEY"):
        client(odd("exits_at_once")).open()


def test_blocking_client_has_the_methods_of_the_async_one() -> None:
    """What is left out is for programs with a loop."""
    of_loops = {"on_change", "request", "notify", "subscribe", "unsubscribe", "is_open", "violations", "first_violations"}
    of_loops |= {"pid", "transport", "resumptions", "died_of_probe"}  # for those who examine a connection
    theirs = {name for name in dir(AsyncClient) if not name.startswith("_")}
    ours = {name for name in dir(module.Client) if not name.startswith("_")}
    assert theirs - ours - of_loops == set()
    assert ours <= theirs


def test_package_offers_both_faces_under_one_name() -> None:
    import dragoman

    assert dragoman.blocking.Client is Client
    assert Path(dragoman.__file__).name == "__init__.py"

"""Every ending speaks twice: to the model, which has to do something else, and to the person, who has to know."""

from __future__ import annotations

import pytest

from dragoman.errors import CallTimeout, ConnectFailed, ConnectionLost, InvalidResult, ServerError


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32602, "no"),
        (-32000, "Input validation error: 'a' is a required property"),
        (-32001, "Missing required parameter: path"),
        (-32000, "unknown field 'x'"),
    ],
)
def test_complaints_about_arguments_go_back_to_the_model_as_a_hint(code: int, message: str) -> None:
    """Our contract: also the server's -32602 and schema complaints."""
    error = ServerError(code, message)
    assert error.is_about_arguments
    assert error.for_model().endswith("correct them by the tool's schema, and call it again")
    assert message in error.for_model()
    assert error.for_user() == f"server error {code}: {message}"


@pytest.mark.parametrize(("code", "message"), [(-32603, "Internal error"), (-32000, "the disk is full"), (-32601, "Invalid params field")])
def test_other_errors_of_a_server_go_to_the_person_in_its_own_words(code: int, message: str) -> None:
    """Our contract."""
    error = ServerError(code, f"{message}\x1b[2J")
    assert not error.is_about_arguments
    assert "tell the person" in error.for_model()
    assert "call it again" not in error.for_model()
    assert error.for_user() == f"server error {code}: {message}\\x1b[2J"


def test_time_out_offers_another_try_only_where_that_is_known_to_be_harmless() -> None:
    """Our contract: says so, and offers retry (never for a write), another way, or asking the person."""
    error = CallTimeout("no answer within 30 s", 30)
    assert "do not repeat it" in error.for_model()
    assert "it may have run" in error.for_user()
    error.repeatable = True
    assert "try it once more" in error.for_model()
    assert "use another way, or ask the person" in error.for_model()
    assert "may have run" not in error.for_user()
    unsent = CallTimeout("it did not start in time", 30, maybe_ran="no")
    assert "nothing was sent" in unsent.for_model()
    assert "once more" not in unsent.for_model()


def test_lost_calls_say_what_is_not_known_and_who_finds_out() -> None:
    """Our contract: the person is asked."""
    lost = ConnectionLost("it is gone")
    assert "do not repeat it" in lost.for_model()
    assert lost.for_user() == "it is gone\nit may have run: look at what it was to change before you call it again"
    lost.repeatable = True
    assert lost.for_model() == "it is gone\nuse another way, or ask the person"
    assert lost.for_user() == "it is gone"


def test_what_ran_is_not_to_be_repeated_and_what_cannot_be_reached_needs_another_way() -> None:
    """Our contract: advice that fits the ending."""
    assert "it ran" in InvalidResult("no").for_model()
    failed = ConnectFailed("refused", hint="start it")
    assert failed.for_model() == "refused\nstart it\nthe server cannot be reached: use another way, or ask the person"
    assert failed.for_user() == "refused\nhint: start it"

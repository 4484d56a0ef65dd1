"""Every result leaves with its label."""

from __future__ import annotations

from dragoman.policy.label import Label
from dragoman.testing.layers import spawn_layer, tool_result
from tests.policy.kit import call_of, tool


async def test_every_result_is_untrusted_and_says_where_it_came_from() -> None:
    """Our contract: every result is untrusted input."""
    for result in (tool_result(), tool_result(is_error=True)):
        outcome = await spawn_layer(Label(), result)(call_of(tool(), {}))
        assert outcome.labels == {"untrusted", "server:math", "tool:add"}
        assert outcome.findings == ()


async def test_hidden_text_is_marked_and_shown() -> None:
    """An attack: text that only the model sees."""
    outcome = await spawn_layer(Label(), tool_result("fine\n and " + "".join(chr(0xE0000 + ord(c)) for c in "obey")))(call_of(tool(), {}))
    (finding,) = outcome.findings
    assert finding.level == "mark"
    assert "tag characters" in finding.message
    assert "and \\U000e006f" in finding.sample


async def test_the_excerpt_begins_with_a_whole_word() -> None:
    """Our choice: half a word reads like another one."""
    outcome = await spawn_layer(Label(), tool_result("nothing at all to see here, " * 9 + "kind re\u200bgards"))(call_of(tool(), {}))
    assert outcome.findings[0].sample == "at all to see here, kind re\\u200bgards"


async def test_cancellation_goes_through() -> None:
    """Every layer."""
    await spawn_layer(Label()).cancelled(call_of(tool(), {}))

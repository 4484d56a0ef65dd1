"""What Python cannot hold in a result fails as a named error of ours, and only where it is asked for."""

from __future__ import annotations

import pytest

import dragoman.runtime.failures  # noqa: F401 - puts the error in place
from dragoman.errors import InvalidResult
from dragoman.wire.envelope import decode_plain_error
from dragoman.wire.results import decode_tool_result


def test_a_number_out_of_range_is_an_invalid_result_that_may_have_run() -> None:
    """Our choice: numbers beyond the range of a double fail only their own call."""
    result = decode_tool_result(b'{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":1e400}}')
    assert result.text == "x"
    for path, name in (("/structuredContent", "structured"), ("", "raw")):
        with pytest.raises(InvalidResult) as caught:
            getattr(result, name)
        assert (caught.value.path, caught.value.maybe_ran) == (path, "yes")


def test_an_error_keeps_code_and_message_where_its_data_cannot_be_read() -> None:
    """Our choice."""
    body = decode_plain_error(b'{"code":-32000,"message":"no","data":1e400}')
    assert (body.code, body.message) == (-32000, "no")

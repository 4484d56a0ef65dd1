"""What is no JSON object is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import LocalProtocolError
from dragoman.runtime.client import Client


@pytest.mark.parametrize("arguments", [[1], "x", 5])
async def test_arguments_that_are_no_mapping_are_refused(arguments: Any) -> None:
    """Our choice; checked before the connection is looked at."""
    with pytest.raises(LocalProtocolError, match="arguments must be a mapping"):
        await Client(["true"]).call_tool("x", arguments)

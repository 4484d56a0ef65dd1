"""Hearing of changes from servers on the official SDKs, through one face, in both eras, over stdio and HTTP."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from dragoman import Change
from tests.interop.test_sdk_servers import MENU, TELLING, WATCHED, Peer, connect, over, peer, running

__all__ = ["peer", "running"]  # fixtures

_WAIT_S = 20


@over(TELLING)
@pytest.mark.shows("changes of lists")
async def test_new_tool_is_a_change_and_leaving_ends_it(peer: Peer) -> None:
    """2026-07-28 basic/patterns/subscriptions; up to 2025-11-25 server/tools, list changed."""
    name = f"fry_{uuid.uuid4().hex}"
    async with connect(peer) as client:
        async with client.listen(tools=True) as changes:
            await client.call_tool("grow", {"name": name})
            async with asyncio.timeout(_WAIT_S):
                assert await anext(changes) == Change("tools")
            assert name in [tool.name for tool in await client.list_tools()]
        assert changes.ended == "closed"
        assert (await client.call_tool(name)).text == f"I am {name}"
        assert client.violations == {}


@over(WATCHED)
@pytest.mark.shows("updates of resources")
async def test_new_contents_of_a_resource_are_a_change_of_that_resource(peer: Peer) -> None:
    """2026-07-28 basic/patterns/subscriptions; up to 2025-11-25 server/resources, subscriptions."""
    async with connect(peer) as client:
        async with client.listen(resources=[MENU]) as changes:
            await client.call_tool("season")
            async with asyncio.timeout(_WAIT_S):
                assert await anext(changes) == Change("resource", MENU)
        assert client.violations == {}

"""A WebSocket server on loopback: aiohttp's, so that both ends are not of one hand."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import WSMsgType, web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answering(answer: Callable[[bytes], list[bytes] | None], protocols: tuple[str, ...] = ("mcp",)) -> Handler:
    """Answers each message as told; ``None`` hangs up."""

    async def handler(request: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=protocols, max_msg_size=1 << 24, compress=False)
        await peer.prepare(request)
        async for message in peer:
            if message.type is WSMsgType.TEXT:
                answers = answer(message.data.encode())
                if answers is None:
                    await peer.close()
                    break
                for one in answers:
                    await peer.send_str(one.decode())
        return peer

    return handler


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The URL of a server; afterwards it is gone."""
    application = web.Application()
    application.router.add_route("GET", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        assert runner.addresses
        yield f"{'wss' if tls else 'ws'}://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()

"""Who is compared and how each is started; as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    """
    ``runtime`` says which environment it needs: *ours* (the interpreter that runs the benchmark), *mcp2*, *mcp1* or *node*.

    ``driver`` and ``start`` are files of bench/drivers; ``imports`` is what the import row imports, ``module:name`` to use a name too.
    """

    name: str
    label: str
    runtime: str
    driver: str = ""
    start: str = ""
    imports: str = ""


CONTENDERS: dict[str, Contender] = {
    one.name: one
    for one in (
        Contender("floor", "floor (asyncio raw fd + msgspec, no protocol)", "ours", "floor.py", "start_floor.py", "asyncio,msgspec"),
        Contender("bare", "bare aiohttp POST + msgspec, no protocol", "ours", "floor_http.py"),
        Contender("client", "dragoman Client", "ours", "ours_client.py", "start_client.py", "dragoman"),
        Contender("loaded", "dragoman with Client loaded", "ours", imports="dragoman:Client"),
        Contender("host", "dragoman Host, L0, all layers, audit", "ours", "ours_host.py"),
        Contender("layers", "dragoman Host with and without the layers of resilience", "ours", "ours_layers.py"),
        Contender("many", "dragoman Host, everything on", "ours", "ours_many.py"),
        Contender("call", "dragoman call --on", "ours"),
        Contender("mcp2", "mcp 2.3.0 (Python)", "mcp2", "peer_mcp2.py", "start_mcp2.py", "mcp"),
        Contender("mcp1", "mcp 1.30.0 (Python)", "mcp1", "peer_mcp1.py", "start_mcp1.py", "mcp"),
        Contender("ts-sdk1", "@modelcontextprotocol/sdk 1.32 (Node)", "node", "ts_sdk1.mjs", "start_ts_sdk1.mjs"),
        Contender("ts-client2", "@modelcontextprotocol/client 2.4 (Node)", "node", "ts_client2.mjs", "start_ts_client2.mjs"),
    )
}

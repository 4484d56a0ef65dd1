"""Tools with views on the official SDK 2.x, both eras. Usage: apps_2.py. It serves `tests/interop` only."""

from __future__ import annotations

from mcp.server.apps import Apps, ResourceCsp, client_supports_apps
from mcp.server.mcpserver import Context, MCPServer

apps = Apps()


@apps.tool(resource_uri="ui://clock/app.html", description="The time.")
def clock(ctx: Context) -> str:
    """What a client that shows no views gets says more."""
    return "12:00" if client_supports_apps(ctx) else "It is twelve o'clock."


@apps.tool(resource_uri="ui://clock/app.html", visibility=["app"])
def wind() -> str:
    """Only for the view."""
    return "wound"


apps.add_html_resource(
    "ui://clock/app.html", "<!DOCTYPE html><title>clock</title>", csp=ResourceCsp(connect_domains=["https://time.example"])
)

if __name__ == "__main__":
    MCPServer("sdk-2-apps", version="1.0", extensions=[apps]).run("stdio")

"""URLs, headers and proxies: what is refused before anything is opened, and what is kept out of messages."""

from __future__ import annotations

import pytest

from dragoman.errors import ConfigError
from dragoman.transports.http import HttpTransport
from dragoman.transports.http_target import Proxy, base_headers, find_proxy, parse_url, printable
from tests.transports.loopback import Exchange, loopback, opened, request, result

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy the machine has, these tests start without."""
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.com/mcp", "has no scheme"),
        ("localhost:8000", "has no scheme"),
        ("ftp://example.com/", "has the scheme 'ftp'"),
        ("file:///etc/passwd", "has the scheme 'file'"),
        ("http:///mcp", "names no host"),
        ("http://host:port/", "cannot be read"),
        ("http://host:99999/", "cannot be read"),
        ("http://[::1/", "cannot be read"),
        ("http://host/a b", "holds a blank"),
        ("http://host/\r\nX: 1", "holds a blank or a control character"),
        ("", "has no scheme"),
    ],
)
def test_url_that_names_no_endpoint_is_refused_in_words(url: str, words: str) -> None:
    """Our choice: a wrong URL is a fault of the configuration, found before anything is opened."""
    with pytest.raises(ConfigError, match=words):
        HttpTransport(url)


def test_credentials_of_a_url_become_a_header_and_stay_out_of_the_label() -> None:
    """Our choice: labels go into logs and messages; queries hold keys often enough."""
    target = parse_url("https://us%40er:p%3Aw@Example.com:8443/mcp?key=secret#part")
    assert target.label == "https://example.com:8443/mcp?…"
    assert target.url == "https://example.com:8443/mcp?key=secret"
    assert target.authorization == "Basic dXNAZXI6cDp3"
    assert base_headers({}, target.authorization)["Authorization"] == "Basic dXNAZXI6cDp3"
    assert base_headers({"authorization": "Bearer own"}, target.authorization)["authorization"] == "Bearer own"
    assert "Authorization" not in base_headers({"authorization": "Bearer own"}, target.authorization)
    assert parse_url("http://[::1]:80/x").label == "http://[::1]:80/x"


@pytest.mark.parametrize("value", ["a\r\nb", "a\nb", "token\n", "a\0b", "a\x7fb"])
def test_header_value_with_a_control_character_is_refused_and_not_shown(value: str) -> None:
    """RFC 9110 5.5 field values; the value may be a secret."""
    with pytest.raises(ConfigError, match="the value of header X-Key holds the character") as caught:
        HttpTransport("http://host/", headers={"X-Key": "s3cret" + value})
    assert "s3cret" not in caught.value.for_user()


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a\r\nb", "ä"])
def test_name_that_is_no_header_name_is_refused(name: str) -> None:
    """RFC 9110 5.1: a field name is a token."""
    with pytest.raises(ConfigError, match="is not the name of a header"):
        HttpTransport("http://host/", headers={name: "x"})


@pytest.mark.parametrize("name", ["Mcp-Session-Id", "last-event-id", "Content-Length", "Transfer-Encoding", "Host", "Connection"])
def test_header_that_belongs_to_the_protocol_is_refused(name: str) -> None:
    """MCP 2026-07-28 has no sessions and no resumption; framing is not the user's."""
    with pytest.raises(ConfigError, match="belongs to the protocol"):
        HttpTransport("http://host/", headers={name: "x"})


def test_proxy_of_the_environment_is_found_by_scheme_and_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: the variables that other tools read; this machine itself is never reached through a proxy."""
    assert find_proxy(parse_url("http://example.com/")) is None
    monkeypatch.setenv("HTTP_PROXY", "http://us:pw@proxy.example:3128")
    monkeypatch.setenv("https_proxy", "proxy.example:3129")
    monkeypatch.setenv("NO_PROXY", ".internal,10.0.0.1")
    assert find_proxy(parse_url("http://example.com/")) == Proxy("http://us:pw@proxy.example:3128", "http://proxy.example:3128")
    assert find_proxy(parse_url("https://example.com/")) == Proxy("http://proxy.example:3129", "http://proxy.example:3129")
    for url in (
        "http://a.internal/",
        "http://10.0.0.1/",
        "http://localhost:8000/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://app.localhost/",
    ):
        assert find_proxy(parse_url(url)) is None


async def test_proxy_of_an_unknown_kind_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: say what is wrong and how to get round it."""
    monkeypatch.setenv("ALL_PROXY", "socks5://us:pw@proxy.example:1080")
    transport = HttpTransport("http://example.com/")
    with pytest.raises(ConfigError, match=r"socks5://proxy\.example:1080") as caught:
        await transport.open(lambda _: None)
    assert "pw" not in caught.value.for_user().replace("proxy", "")
    await transport.close()


async def test_requests_go_through_the_proxy_with_its_credentials_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: a proxy sees the absolute URL and its own credentials; nobody reads ~/.netrc."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply_json(result(1))

    async with loopback(handler) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://us:pw@127.0.0.1:{proxy.port}")
        async with opened("http://server.example/mcp") as (transport, recorder):
            await transport.perform(request(1))
            await recorder.ended(1)
        (seen,) = proxy.requests
        assert seen.line == "POST http://server.example/mcp HTTP/1.1"
        assert seen.header("Proxy-Authorization") == "Basic dXM6cHc="
        assert seen.header("Authorization") is None
        assert recorder.messages(1) == [result(1)]


async def test_a_proxy_that_tunnels_sees_no_header_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: what is inside TLS is not told to the proxy outside; aiohttp would, for headers of the session."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("403 Forbidden")

    async with loopback(handler) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://us:pw@127.0.0.1:{proxy.port}")
        async with opened("https://server.example/mcp", headers={"Authorization": "Bearer t0p", "X-Key": "k"}) as (transport, recorder):
            await transport.perform(request(1))
            end = await recorder.ended(1)
        (seen,) = proxy.requests
        assert seen.line == "CONNECT server.example:443 HTTP/1.1"
        assert seen.header("Proxy-Authorization") == "Basic dXM6cHc="
        assert "t0p" not in repr(seen.headers)
        assert seen.header("X-Key") is None
        assert end.reason == "the proxy does not connect to https://server.example/mcp: HTTP 403 Forbidden"
        assert not end.sent


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain 文", "plain 文"), ("a\x1b[0m\nb", "a\\x1b[0m\\nb"), ("\u202egpj", "\\u202egpj"), ("x" * 201, "x" * 200 + "…")],
)
def test_text_of_a_server_is_shown_on_one_line_without_controls(text: str, shown: str) -> None:
    """Our choice: reasons end up on terminals."""
    assert printable(text) == shown

"""TCP addresses: how they are written, and which are refused."""

from __future__ import annotations

import pytest

from dragoman.wire.tcp import BadAddress, TcpAddress, is_loopback, tcp_address


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "files.localhost"])
def test_this_machine_needs_no_word(host: str) -> None:
    """RFC 6761 6.3 and RFC 1122 3.2.1.3: loopback."""
    address = tcp_address(f"tcp://{host}:7000")
    assert address == TcpAddress(host.strip("[]"), 7000)
    assert address.url == f"tcp://{host}:7000"


@pytest.mark.parametrize("host", ["10.0.0.7", "files.example", "[2001:db8::7]", "0.0.0.0", "localhost.example", "128.0.0.1"])
def test_other_machines_need_the_word_for_it(host: str) -> None:
    """Our choice: a person who approves the address approves this with it."""
    with pytest.raises(BadAddress) as caught:
        tcp_address(f"tcp://{host}:7000")
    assert "neither encrypted nor authenticated" in caught.value.message
    assert f"tcp+unencrypted://{host}:7000" in caught.value.hint
    assert tcp_address(f"tcp+unencrypted://{host}:7000") == TcpAddress(host.strip("[]"), 7000, elsewhere=True)


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("tcp://localhost", "no host and port"),
        ("tcp://:7000", "no host and port"),
        ("tcp://localhost:0", "no host and port"),
        ("tcp://localhost:70000", "cannot be read"),
        ("tcp://me:secret@localhost:7000", "nothing before or after"),
        ("tcp://localhost:7000/mcp", "nothing before or after"),
        ("tcp://localhost:7000?x", "nothing before or after"),
        ("tcp://localhost:7000#x", "nothing before or after"),
    ],
)
def test_more_or_less_than_host_and_port_is_refused_without_showing_credentials(url: str, wrong: str) -> None:
    """Each names what it should look like."""
    with pytest.raises(BadAddress, match=wrong) as caught:
        tcp_address(url)
    assert "tcp://127.0.0.1:7000" in caught.value.hint
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_loopback_is_said_of_addresses_not_of_names() -> None:
    """A name is asked for its addresses first."""
    assert [is_loopback(one) for one in ("127.0.0.1", "::1", "::1%lo", "localhost", "10.0.0.1", "::ffff:10.0.0.1")] == [True] * 3 + [
        False
    ] * 3

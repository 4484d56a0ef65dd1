"""The page of limits says what the code does."""

from __future__ import annotations

import pytest

from dragoman.config import limits as config_limits
from dragoman.config.model import Limits
from dragoman.policy import bounds as policy_bounds
from dragoman.policy import schema_shape, schemas, stale
from dragoman.protocol import answers, asks, bounds, inbound
from dragoman.runtime import caching, driver, forms, inbox, listing, sampling, session, subscriptions
from dragoman.service import voices, webhook
from dragoman.store import chain, sqlite
from dragoman.transports import http_answer, http_session, pipe, stdio
from tests.documentation import ROOT

PAGE = (ROOT / "docs" / "limits.md").read_text()
ROWS = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in PAGE.splitlines() if line.count("|") >= 5}
MIB = 1 << 20


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("result of a call of a `Host`", f"{Limits().result_bytes // 1_000_000} MB"),
        ("any one message", f"{Limits().frame_bytes // MIB} MiB"),
        ("a request or a notice of the server's", f"{answers._UNASKED // MIB} MiB"),
        ("what is no message, and answers that nobody asked for", f"{answers._STRAY // MIB} MiB"),
        ("answers that come too late", f"{bounds.LOOK // 1024} KiB"),
        ("what a server says about itself, instructions included", f"{answers.MAX_HANDSHAKE // MIB} MiB"),
        ("a broken message that is mended (NaN, wrong bytes, text glued to it)", f"{inbound._MAX_MENDED // MIB} MiB"),
        ("calls for which a server wants something first", f"{session.MAX_ROUNDS} rounds"),
        ("open requests of a server to us", f"{asks.MAX_OPEN_ASKS}"),
        ("samplings of a server", f"{sampling.MAX_A_MINUTE} a minute"),
        ("fields of a form", f"{forms.MAX_FIELDS}"),
        ("answers that a server does not read", f"{driver.MAX_BACKLOG:,} messages"),
        ("messages to a server that does not read", f"{pipe._HIGH // 1024} KB, and one message more"),
        ("reading of one connection in one turn of the loop", f"about {pipe._AT_ONCE} messages"),
        ("callbacks that wait to be run", f"{inbox.MAX_BYTES // MIB} MB"),
        ("changes of one subscription that wait", f"{subscriptions.MAX_WAITING:,}, and one for each resource"),
        ("tools of one server", f"{Limits().tools:,}"),
        ("one page", f"{listing.PAGE_BYTES // MIB} MiB, {listing._MAX_COMMAS:,} values"),
        (
            "all pages of a listing",
            f"{listing.MAX_PAGES:,} pages, {listing.MAX_ITEMS:,} items, {listing.LISTING_BYTES // MIB} MiB",
        ),
        ("name of a tool", f"{listing._MAX_NAME:,} characters"),
        ("a result that is kept for its `ttlMs`", f"{caching.MAX_BYTES // 1_000_000} MB, 1,000 results, {caching.MAX_TTL_S / 3600:.0f} h"),
        (
            "parts of a schema",
            f"{schema_shape.MAX_SCHEMAS:,} schemas, {schema_shape.MAX_PATTERNS} patterns, {schema_shape.MAX_CHAIN} references in a chain",
        ),
        ("compiled schemas kept", f"{schemas.MAX_KEPT:,}"),
        ("one regular expression, compiled", f"{schemas._REGEX_BYTES // 1024} KiB"),
        (
            "arguments from a model",
            f"{policy_bounds.MAX_DEPTH} levels, {policy_bounds.MAX_VALUES:,} values, {policy_bounds.MAX_CHARS:,} characters, "
            f"numbers of {policy_bounds.MAX_DIGITS:,} digits",
        ),
        ("body of an answer that is an error", f"{http_answer.ERROR_BODY // MIB} MiB"),
        (
            "what comes out of a compressed body",
            f"{http_answer._HONEST_SIZE // MIB} MiB, and beyond that {http_answer._HONEST_RATIO} times what went in",
        ),
        ("redirects", f"{http_answer.MAX_REDIRECTS}, within the origin"),
        ("connections to one host", f"{http_session.MAX_CONNECTIONS}"),
        ("what a server writes on stderr", f"{stdio._FLOOD / stdio._PAUSE_S / MIB:.0f} MiB a second"),
        (
            "log messages of a server that are written, and lines of stderr that reach the logger",
            f"{voices.RATE} a second, {voices._LONGEST:,} characters each",
        ),
        ("calls at one time", f"{Limits().concurrent} of a server, 512 in all"),
        ("calls in the queue", f"{Limits().queue} of a server, {Limits().queue_s:.0f} s"),
        ("old answers kept", f"{stale.MAX_ENTRIES}, {stale.MAX_BYTES // 1_000_000} MB in all"),
        ("details of one audit record", f"{chain.MAX_DETAIL_BYTES // 1024} KiB, {chain.MAX_DEPTH} levels"),
        ("records that wait for the disk", f"{sqlite.MAX_QUEUED:,}"),
        ("alerts that wait for a webhook", f"{webhook.MAX_WAITING}"),
    ],
)
def test_row_has_the_number_of_the_code(row: str, value: str) -> None:
    """Our choice: one table for all of them."""
    assert ROWS[row] == value


def test_last_line_has_the_numbers_of_the_configuration() -> None:
    """The file is a limit too."""
    sizes = f"{config_limits.MAX_BYTES // MIB} MiB ({config_limits.MAX_JSON_BYTES // MIB} MiB as JSON)"
    assert f"at most {sizes}, {config_limits.MAX_SERVERS} servers and {config_limits.MAX_VALUES:,} values" in PAGE

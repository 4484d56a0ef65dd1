"""What the redactor hides, what it leaves, and that its cost grows with the text only."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.redactor import MASK, Redactor

SECRET = 'hünter/2 "x"\n+tail'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET))[3:-3],
        quote(SECRET, safe=""),
        quote(SECRET),
        quote_plus(SECRET),
    ],
)
def test_a_known_secret_is_found_in_every_form_it_is_written_in(form: str) -> None:
    """Our choice: JSON, JSON in JSON, URLs."""
    redactor = Redactor()
    redactor.add(SECRET)
    assert redactor.redact_text(f"a {form} b {form}") == f"a {MASK} b {MASK}"


@pytest.mark.parametrize("before", ["", "u", "us", "use"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_secret_is_found_in_base64_wherever_it_stands_in_it(before: str, encode: object) -> None:
    """HTTP Basic puts it behind a name and a colon."""
    secret = "correct?horse>battery"
    redactor = Redactor()
    redactor.add(secret)
    assert callable(encode)
    text = encode(f"{before}:{secret}~~".encode()).decode()
    clean = redactor.redact_text(f"x {text} y")
    assert MASK in clean
    left = clean.removeprefix("x ").removesuffix(" y").replace(MASK, "")
    assert len(left) <= len(before) * 2 + 8  # the neighbours' characters only


def test_short_values_are_not_searched_for_and_a_longer_secret_is_replaced_whole() -> None:
    """Our choice: "8080" or "true" would be found in everything."""
    redactor = Redactor()
    redactor.add("8080")
    redactor.add("swordfish")
    redactor.add("swordfish-and-more")
    assert redactor.redact_text("8080 swordfish-and-more swordfish") == f"8080 {MASK} {MASK}"


def test_each_line_of_a_known_key_file_is_a_secret() -> None:
    """Our choice: logs show such files line by line."""
    redactor = Redactor()
    redactor.add("head-line-of-sixteen\nMIIEvQIBADANBgkqh\nend")
    assert redactor.redact_text("> MIIEvQIBADANBgkqh <") == f"> {MASK} <"


# Put together here so that no scanner takes this file for a leak.
SHAPES = [
    "sk-" + "proj-" + "a1B2" * 6,
    "sk_" + "live_" + "a1B2" * 6,
    "ghp_" + "a1B2" * 9,
    "github_" + "pat_" + "a1B2" * 9,
    "glpat-" + "a1B2" * 5,
    "xoxb-" + "1234567890-abc",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "a1B2-" * 7,
    "npm_" + "a1B2" * 9,
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1",
]


@pytest.mark.parametrize("token", SHAPES)
def test_well_known_token_shapes_are_hidden_without_being_told(token: str) -> None:
    """The issuers' documented prefixes; RFC 7519."""
    assert Redactor().redact_text(f'{{"a": "{token}", "b": 1}}') == f'{{"a": "{MASK}", "b": 1}}'
    assert Redactor().redact_text(f"({token})") == f"({MASK})"


PAIRS = [
    ("Authorization: Bearer abc\nnext: 1", "Authorization: *\nnext: 1"),
    ("Cookie: a=b; c=d", "Cookie: *"),
    ('{"Authorization":"Basic dTpw","x":1}', '{"Authorization":"*","x":1}'),
    (r'{"password":"a\"b","x":1}', '{"password":"*","x":1}'),
    (r'{"text":"{\"password\":\"a\\\"b\\\\\",\"q\":1}"}', r'{"text":"{\"password\":\"*\",\"q\":1}"}'),
    ("{'client_secret': 'it is', 'x': 1}", "{'client_secret': '*', 'x': 1}"),
    ("GITHUB_TOKEN=abc PATH=/bin", "GITHUB_TOKEN=* PATH=/bin"),
    ('export API_KEY="a b"; ls', 'export API_KEY="*"; ls'),
    ('{"t":"password=\\"q w\\" z"}', '{"t":"password=\\"*\\" z"}'),
    ("https://u:p@ss@h/x?access_token=abc&y=1", "https://u:*@h/x?access_token=*&y=1"),
    ("postgresql://reader:pw@db/shop", "postgresql://reader:*@db/shop"),
    ("curl -H 'x: bearer abcdef1'", "curl -H 'x: bearer *'"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----*-----END RSA PRIVATE KEY-----",
    ),
    ("İİ password=abcd", "İİ password=*"),
    # left as it is
    ('{"_meta":{"progressToken":"abc"}}', None),
    ('{"token":123,"secret":null,"password":{"type":"string"}}', None),
    ('{"text":"the password:","next":"x"}', None),
    ("https://h:80/a@b", None),
    ("a task-list of risk-averse keys, tokens: 5", None),
    ("nothing to see", None),
]


@pytest.mark.parametrize(("text", "clean"), PAIRS)
def test_named_values_are_hidden_and_the_text_around_them_stays(text: str, clean: str | None) -> None:
    """Our choice: JSON, JSON in JSON, headers, shell, Python, URLs."""
    expected = text if clean is None else clean.replace("*", MASK)
    assert Redactor().redact_text(text) == expected


FRAGMENTS = st.sampled_from(
    [
        "password",
        "token",
        ":",
        "=",
        '"',
        "'",
        "\\",
        " ",
        ",",
        "}",
        "a",
        "Authorization: ",
        "Bearer abcdefgh",
        "://u:",
        "p@",
        "\n",
        "eyJ",
        "é",
        "/",
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=8).map("".join)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)


@given(VALUES)
@settings(max_examples=settings().max_examples * 2)
def test_json_stays_json(value: object) -> None:
    """Our choice: a trace file must be readable by programs."""
    json.loads(Redactor().redact_text(json.dumps(value)))
    nested = json.loads(Redactor().redact_text(json.dumps({"text": json.dumps(value)})))
    assert isinstance(nested["text"], str)


ADVERSARIAL = [
    *(
        "eyJ",
        "eyJaaaaaaaaaaa.",
        "password",
        "password=",
        'password":"',
        'password\\":\\"',
        "\\",
        "sk-",
        "sk-a",
        "://a:",
        "://",
        "://:",
        "bearer ",
    ),
    *("token ", "token: ", "-----BEGIN PRIVATE KEY-----", "-", "'", "password='", "gh", "authorization: ", "://" + "a" * 120 + ":", "İ"),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", ADVERSARIAL)
def test_a_megabyte_made_to_confuse_the_patterns_costs_no_more_than_a_linear_walk(piece: str) -> None:
    """Our choice: a server decides what it sends; a quadratic pattern would need hours here."""
    redactor = Redactor()
    redactor.add("some-known-secret")
    redactor.redact_text(piece * (1_000_000 // len(piece)))


def test_secrets_added_from_many_threads_are_all_kept() -> None:
    """Our choice: servers start side by side while others are traced."""
    redactor = Redactor()

    def work(number: int) -> str:
        redactor.add(f"secret-number-{number:03}")
        return redactor.redact_text(f"secret-number-{number:03}")

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(64))) == {MASK}
    assert all(redactor.redact_text(f"secret-number-{number:03}") == MASK for number in range(64))


@pytest.mark.parametrize("text", ["a credential: abcdef and more", "password=[redacted] x", "Cookie: abcdef", '{"token": "abcdef"}'])
def test_what_was_masked_before_stays_as_it_is(text: str) -> None:
    """Errors are cleaned where they are made and again where they are told."""
    once = Redactor().redact_text(text)
    assert Redactor().redact_text(once) == once

"""Variables in a configuration: when they are read, what an unset one says, and what the redactor learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.load import parse
from dragoman.config.model import ServerConfig
from dragoman.config.redactor import MASK, Redactor
from dragoman.config.secrets import Launch, looks_secret, mask_server, resolve, resolve_server
from dragoman.errors import ConfigError


def server(body: str, folder: Path = Path("/etc/d")) -> ServerConfig:
    return parse(f"[servers.s]\n{body}\n", folder / "dragoman.toml").servers["s"]


def launch(body: str, env: dict[str, str], folder: Path = Path("/etc/d")) -> tuple[Launch, Redactor]:
    redactor = Redactor()
    return resolve_server(server(body, folder), env, redactor), redactor


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("plain", "plain"),
        ("${env:A}", "alpha1"),
        ("x${env:A}y${env:B:-d e}", "xalpha1yd e"),
        ("${env:A:-no}", "alpha1"),
        ("${env:EMPTY:-full}", "full"),
        ("[${env:EMPTY}]", "[]"),
        ("[${env:NONE:-}]", "[]"),
        ("$${env:A}", "${env:A}"),
        ("${HOME} ${A:-b} $A ${x:y}", "${HOME} ${A:-b} $A ${x:y}"),
    ],
)
def test_variables_are_replaced_and_shell_text_stays(value: str, result: str) -> None:
    """Our choice."""
    assert resolve(value, {"A": "alpha1", "EMPTY": ""}, Redactor()) == result


def test_a_value_is_replaced_once_so_that_a_variable_cannot_name_another() -> None:
    """Our choice: what a variable holds is a value, never a template."""
    assert resolve("${env:A}", {"A": "${env:B}", "B": "secret"}, Redactor()) == "${env:B}"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("${env:NOPE}", "environment variable NOPE is not set; set it, or give a default: ${env:NOPE:-default}"),
        ("${env:}", "'' in ${env:} is not the name of a variable"),
        ("${env:A B}", "'A B' in ${env:A B} is not the name of a variable"),
        ("${env:A", "${env: has no closing brace"),
        ("${secret:x}", "${secret:x} needs the secret store, which is not there yet; use ${env:NAME}"),
        ("${input:x}", "${input:x} asks a person in another program; use ${env:NAME}"),
    ],
)
def test_what_cannot_be_resolved_is_an_error_with_file_line_and_key(value: str, sentence: str) -> None:
    """Our choice."""
    with pytest.raises(ConfigError) as caught:
        launch(f"command = ['x']\nenv = {{ A = 'x',\n B = '{value}' }}".replace(",\n", ", "), {})
    assert str(caught.value) == f"/etc/d/dragoman.toml:3: servers.s.env.B: {sentence}"


def test_nothing_is_read_from_the_environment_before_the_server_starts() -> None:
    """Our choice: a server that is never started needs no variable, and a listing holds no secret."""
    assert server("command = ['x']\nenv = { T = '${env:NOPE}' }").env == {"T": "${env:NOPE}"}


def test_every_place_that_may_hold_a_variable_is_resolved(tmp_path: Path) -> None:
    """Our choice."""
    (tmp_path / "sub").mkdir()
    env = {"W": "word-one", "D": "sub", "E": "env-value", "LANG": "C", "OTHER": "no", "MY_A": "a"}
    got, redactor = launch("command = ['${env:W}', '-x']\ncwd = '${env:D}'\nenv = { E2 = '${env:E}' }\ninherit = ['MY_*']", env, tmp_path)
    assert got.command == ("word-one", "-x")
    assert got.cwd == str(tmp_path / "sub")
    assert (got.env, got.inherit) == ({"E2": "env-value"}, ("MY_*",))
    assert redactor.redact_text("word-one env-value") == f"{MASK} {MASK}"
    web, _ = launch("url = 'http://${env:W}/'\nheaders = { A = '${env:E}' }", env)
    assert (web.url, web.headers, web.env, web.command) == ("http://word-one/", {"A": "env-value"}, {}, None)


def test_a_server_starts_in_its_cwd_else_in_the_files_folder_else_nowhere_special(tmp_path: Path) -> None:
    """DESIGN: a server starts in its cwd, else in the config file's folder, else in the caller's."""
    home = {"HOME": str(tmp_path)}
    assert launch("command = ['x']", {})[0].cwd == "/etc/d"
    assert launch("command = ['x']\ncwd = '~'", home)[0].cwd == str(tmp_path)
    assert resolve_server(ServerConfig(name="s", command=("x",)), {}, Redactor()).cwd is None
    with pytest.raises(ConfigError, match=r"dragoman.toml:3: servers.s.cwd: /etc/d/nope is not a folder"):
        launch("command = ['x']\ncwd = 'nope'", {})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("url = '${env:V}'", "servers.s.url: a URL cannot hold spaces or control characters"),
        ("url = 'http://h'\nheaders = { A = '${env:V}' }", "servers.s.headers.A: a header's value is one line"),
        ("command = ['${env:EMPTY}']", r"servers.s.command\[0\]: names no program once its variables are resolved"),
    ],
)
def test_values_are_checked_again_with_their_variables_in(body: str, message: str) -> None:
    """Our choice: a variable must not smuggle in a second header."""
    with pytest.raises(ConfigError, match=message):
        launch(body, {"V": "x\r\nEvil: 1", "EMPTY": ""})


@pytest.mark.parametrize(
    ("body", "secret"),
    [
        ("command = ['x']\nenv = { DB_PASSWORD = 'literal-one' }", "literal-one"),
        ("url = 'http://h'\nheaders = { Authorization = 'Bearer literal-two' }", "literal-two"),
        ("command = ['x', '--api-key', 'literal-three']", "literal-three"),
        ("command = ['x', '--api-key=literal-four']", "literal-four"),
        ("command = ['x', 'postgresql://u:lit%2Dfive@h/db']", "lit-five"),
        ("url = 'http://u:literal-six@h/'", "literal-six"),
        ("command = ['x']\ninherit = ['MY_TOKEN']", "from-outside"),
        ("command = ['x', '${env:PLAIN}']", "plain-value"),
    ],
)
def test_the_redactor_learns_every_secret_of_a_server_that_starts(body: str, secret: str) -> None:
    """Our choice: what came from a variable, and what stands under a name that looks secret."""
    _, redactor = launch(body, {"MY_TOKEN": "from-outside", "PLAIN": "plain-value"})
    assert redactor.redact_text(f"<{secret}>") == f"<{MASK}>"


def test_harmless_variables_do_not_blacken_the_trace() -> None:
    """Our choice: HOME stands in every path."""
    _, redactor = launch("command = ['${env:HOME}/bin/x']\nenv = { LOG_LEVEL = 'warning' }", {"HOME": "/home/someone"})
    assert redactor.redact_text("/home/someone/a warning") == "/home/someone/a warning"


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "X-Api-Key", "api_key", "PGPASSWORD", "Authorization", "cookie", "AWS_SECRET_ACCESS_KEY", "DB_PWD"]
)
def test_names_that_look_secret(name: str) -> None:
    """Our choice."""
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["PATH", "PWD", "KEYBOARD", "LOG_LEVEL", "MONKEY", "AUTHOR", "COMPASS"])
def test_names_that_do_not(name: str) -> None:
    """Our choice."""
    assert not looks_secret(name)


def test_a_server_is_shown_with_its_variables_by_name_and_literal_secrets_masked() -> None:
    """Our choice: lists, logs and questions to an approver show this."""
    shown = mask_server(
        server(
            "command = ['x', '--token', 'abc', 'pg://u:pw@h', '--key', '${env:K}']\n"
            "env = { A_TOKEN = 'abc', B_TOKEN = '${env:B}', C = 'c' }"
        )
    )
    assert shown.command == ("x", "--token", MASK, f"pg://u:{MASK}@h", "--key", "${env:K}")
    assert shown.env == {"A_TOKEN": MASK, "B_TOKEN": "${env:B}", "C": "c"}
    web = mask_server(server("url = 'http://u:pw@h/'\nheaders = { Authorization = 'Bearer ${env:T}', Cookie = 'a=b' }"))
    assert (web.url, web.headers) == (f"http://u:{MASK}@h/", {"Authorization": "Bearer ${env:T}", "Cookie": MASK})

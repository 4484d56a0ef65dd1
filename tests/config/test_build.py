"""What a dragoman.toml may say, and the sentence for each thing that is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.load import parse
from dragoman.config.model import BreakerConfig, Limits, ServerConfig, ToolConfig
from dragoman.errors import ConfigError

FULL = """
[client]
name = "my-agent"
version = "1"

[servers.files]
command = ["npx", "-y", "server", "/tmp/safe"]
cwd = "work"
env = { LOG_LEVEL = "warn" }
inherit = ["GITHUB_TOKEN", "AWS_*"]
timeout_s = 12
revision = "2025-11-25"
enabled = false
default_tier = "L1"
max_timeout_s = 90
breaker = { failures = 3, open_s = 20 }
limits = { result_bytes = 5000, tools = 7, concurrent = 4, queue = 0, queue_s = 2 }

[servers.files.tools]
"read_*" = "L0"
move_file = { tier = "L3", say = "Move {source} to {destination}" }
read_log = { timeout_s = 5, max_timeout_s = 50, idempotent = true, stale_s = 600, result_bytes = 9000 }

[servers.web]
url = "https://example.test/mcp"
connect_s = 2
idle_s = 30.5
headers = { Authorization = "Bearer ${env:TOKEN}" }
breaker = false

[policy]
approval_timeout_s = 10.5
retry_budget_per_turn = 0
concurrent = 9
allow_yes = false

[alerts]
webhook = "https://hooks.example.test/${env:HOOK}"
"""


def test_every_supported_key_arrives_in_the_model() -> None:
    """Our choice: the reference of the file."""
    config = parse(FULL, Path("dragoman.toml"))
    assert not config.project
    assert config.path == Path("dragoman.toml")
    assert (config.client.name, config.client.version) == ("my-agent", "1")
    files = config.servers["files"]
    assert files.command == ("npx", "-y", "server", "/tmp/safe")
    assert (files.cwd, files.env, files.inherit) == ("work", {"LOG_LEVEL": "warn"}, ("GITHUB_TOKEN", "AWS_*"))
    assert (files.timeout_s, files.revision, files.enabled, files.default_tier) == (12.0, "2025-11-25", False, "L1")
    assert files.limits == Limits(result_bytes=5000, tools=7, concurrent=4, queue=0, queue_s=2.0)
    assert (files.max_timeout_s, files.breaker) == (90.0, BreakerConfig(failures=3, open_s=20.0))
    assert files.tools == {
        "read_*": ToolConfig("L0"),
        "move_file": ToolConfig("L3", "Move {source} to {destination}"),
        "read_log": ToolConfig(timeout_s=5.0, max_timeout_s=50.0, idempotent=True, stale_s=600.0, result_bytes=9000),
    }
    web = config.servers["web"]
    assert (web.url, web.headers, web.command) == ("https://example.test/mcp", {"Authorization": "Bearer ${env:TOKEN}"}, None)
    assert (web.connect_s, web.idle_s, files.connect_s, files.idle_s) == (2.0, 30.5, None, None)
    assert (web.enabled, web.default_tier, web.limits) == (True, "L2", Limits())
    assert web.breaker is None
    assert (config.policy.approval_timeout_s, config.policy.retry_budget_per_turn, config.policy.allow_yes) == (10.5, 0, False)
    assert config.policy.concurrent == 9
    assert config.alerts.webhook == "https://hooks.example.test/${env:HOOK}"
    assert config.warnings == ()


def test_webhook_of_a_project_file_is_not_used_and_that_is_said() -> None:
    """Nobody agreed to it, and a variable in it would carry our secrets away."""
    config = parse(FULL, Path("dragoman.toml"), project=True)
    assert config.project
    assert config.alerts.webhook is None
    assert any("alerts.webhook: has no effect in a project file" in warning for warning in config.warnings)


def test_an_empty_file_is_an_empty_configuration() -> None:
    """Our choice."""
    config = parse("", Path("x.toml"))
    assert config.servers == {}
    assert (config.policy.approval_timeout_s, config.policy.retry_budget_per_turn, config.policy.allow_yes) == (300.0, 5, True)


def test_the_breaker_is_on_unless_it_is_switched_off() -> None:
    """Our contract: on by default, ten failures, five minutes."""
    assert parse(S, Path("c.toml")).servers["s"].breaker == BreakerConfig(failures=10, open_s=300.0)
    assert parse(S + "breaker = true\n", Path("c.toml")).servers["s"].breaker == BreakerConfig()
    assert parse(S + "breaker = { failures = 3 }\n", Path("c.toml")).servers["s"].breaker == BreakerConfig(failures=3)
    assert parse(S + "breaker = false\n", Path("c.toml")).servers["s"].breaker is None


S = '[servers.s]\ncommand = ["x"]\n'
W = "[servers.w]\nurl = 'https://h/'\n"
SENTENCES = [
    # syntax
    ("a = \n", "c.toml:1: not valid TOML: Invalid value (column 5)"),
    ('a = "x\n', "c.toml:1: not valid TOML: Illegal character '\\n' (column 7)"),
    ("[a]\nb = 1\n[a]\n", "c.toml:3: not valid TOML: Cannot declare ('a',) twice (column 3)"),
    ('a = 1\nb = """', "c.toml:2: not valid TOML: Unterminated string (end of file)"),
    # unknown keys
    ("[server.s]\n", 'c.toml:1: server: unknown key; did you mean "servers"?'),
    ('# x\n[servers.s]\ncomand = ["x"]\n', 'c.toml:3: servers.s.comand: unknown key; did you mean "command"?'),
    (S + "zzz = 1\n", "c.toml:3: servers.s.zzz: unknown key"),
    (S + "limits = { result_byte = 1 }\n", 'c.toml:3: servers.s.limits.result_byte: unknown key; did you mean "result_bytes"?'),
    (S + 'tools.a = { teir = "L0" }\n', 'c.toml:3: servers.s.tools.a.teir: unknown key; did you mean "tier"?'),
    (S + "sandbx = true\n", "c.toml:3: servers.s.sandbx: unknown key"),  # what is near would be refused
    ("[policy]\nallow_Yes = true\n", 'c.toml:2: policy.allow_Yes: unknown key; did you mean "allow_yes"?'),
    ("client.nam = 'x'\n", 'c.toml:1: client.nam: unknown key; did you mean "name"?'),
    # wrong types
    ("servers = 1\n", "c.toml:1: servers: expected tables named [servers.NAME], got a number (1)"),
    ("servers.s = 'x'\n", "c.toml:1: servers.s: expected a table [servers.s], got text ('x')"),
    (
        "[servers.s]\ncommand = 'npx server'\n",
        'c.toml:2: servers.s.command: expected a list of words, as in command = ["python3", "server.py"], got text (\'npx server\')',
    ),
    ("[servers.s]\ncommand = [\n 'x',\n 1]\n", "c.toml:4: servers.s.command[1]: expected text in quotes, got a number (1)"),
    ("[servers.s]\nurl = 1\n", "c.toml:2: servers.s.url: expected text in quotes, got a number (1)"),
    (S + "env = { A = 1 }\n", "c.toml:3: servers.s.env.A: expected text in quotes, got a number (1)"),
    (S + "env = ['A']\n", "c.toml:3: servers.s.env: expected a table, got an array"),
    (
        S + "inherit = 'A'\n",
        """c.toml:3: servers.s.inherit: expected a list of names, as in inherit = ["GITHUB_TOKEN", "AWS_*"], got text ('A')""",
    ),
    (S + "enabled = 'no'\n", "c.toml:3: servers.s.enabled: expected true or false, got text ('no')"),
    (S + "timeout_s = true\n", "c.toml:3: servers.s.timeout_s: expected a number of seconds, got true or false (true)"),
    (S + "cwd = 1979-05-27\n", "c.toml:3: servers.s.cwd: expected text in quotes, got a date or time"),
    (S + "limits.tools = 1.5\n", "c.toml:3: servers.s.limits.tools: expected a whole number, got a number (1.5)"),
    (S + "[servers.s.tools]\na = 3\n", "c.toml:4: servers.s.tools.a: expected one of L0, L1, L2, L3, off, got 3"),
    (
        S + "breaker = 3\n",
        "c.toml:3: servers.s.breaker: expected false, or a table as in { failures = 10, open_s = 300 }, got a number (3)",
    ),
    (S + "breaker = { failures = 0 }\n", "c.toml:3: servers.s.breaker.failures: must be at least 1, got 0"),
    (S + "breaker = { after = 1 }\n", "c.toml:3: servers.s.breaker.after: unknown key"),
    (S + "timeout_s = 9\nmax_timeout_s = 5\n", "c.toml:4: servers.s.max_timeout_s: cannot be below timeout_s (9), got 5"),
    (S + "limits.concurrent = 0\n", "c.toml:3: servers.s.limits.concurrent: must be at least 1, got 0"),
    (S + "tools.a = { idempotent = 'yes' }\n", "c.toml:3: servers.s.tools.a.idempotent: expected true or false, got text ('yes')"),
    # values out of range
    (S + "timeout_s = -1\n", "c.toml:3: servers.s.timeout_s: must be a number of seconds above 0, got -1"),
    (S + "timeout_s = inf\n", "c.toml:3: servers.s.timeout_s: must be a number of seconds above 0, got inf"),
    (S + "connect_s = 3\n", "c.toml:3: servers.s.connect_s: is only for servers with a url"),
    (S + "idle_s = 3\n", "c.toml:3: servers.s.idle_s: is only for servers with a url"),
    (W + "connect_s = 0\n", "c.toml:3: servers.w.connect_s: must be a number of seconds above 0, got 0"),
    (W + "idle_s = inf\n", "c.toml:3: servers.w.idle_s: must be a number of seconds above 0, got inf"),
    (W + "idle_s = '3'\n", "c.toml:3: servers.w.idle_s: expected a number of seconds, got text ('3')"),
    (S + "timeout_s = nan\n", "c.toml:3: servers.s.timeout_s: must be a number of seconds above 0, got nan"),
    (
        S + "limits = { frame_bytes = 2000, result_bytes = 1000 }\n[servers.s.tools]\nbig = { result_bytes = 2001 }\n",
        "c.toml:5: servers.s.tools.big.result_bytes: cannot be above the server's limits.frame_bytes (2000), got 2001",
    ),
    (S + "limits = { result_bytes = -5 }\n", "c.toml:3: servers.s.limits.result_bytes: must be at least 1, got -5"),
    (
        S + "limits = { frame_bytes = 2000 }\n",
        "c.toml:3: servers.s.limits.frame_bytes: result_bytes (1000000) cannot be above frame_bytes (2000)",
    ),
    ("policy.retry_budget_per_turn = -1\n", "c.toml:1: policy.retry_budget_per_turn: must be at least 0, got -1"),
    ("policy.approval_timeout_s = 0\n", "c.toml:1: policy.approval_timeout_s: must be a number of seconds above 0, got 0"),
    ("audit.on_failure = 'go on'\n", 'c.toml:1: audit.on_failure: expected "reads-only" or "stop"'),
    ("audit.keep_days = 0\n", "c.toml:1: audit.keep_days: must be at least 1, got 0"),
    ("audit.max_mb = 9\n", "c.toml:1: audit.max_mb: must be at least 10, got 9"),
    ("audit.off = true\n", "c.toml:1: audit.off: unknown key"),
    ("alerts.webhook = 'ftp://x'\n", "c.toml:1: alerts.webhook: expected a URL with http:// or https://"),
    ("alerts.webhook = 'unix:///x'\n", "c.toml:1: alerts.webhook: expected a URL with http:// or https://"),
    # names, tiers, patterns
    (
        '[servers."a.b"]\n',
        "c.toml:1: servers.\"a.b\": 'a.b' cannot be a server's name: use 1 to 32 of letters, digits, _ and -, "
        "starting with a letter or digit",
    ),
    (S + "default_tier = 'l2'\n", 'c.toml:3: servers.s.default_tier: expected one of L0, L1, L2, L3, off, got "l2"; did you mean "L2"?'),
    (S + "tools.a = 'L5'\n", 'c.toml:3: servers.s.tools.a: expected one of L0, L1, L2, L3, off, got "L5"'),
    (
        S + "[servers.s.tools]\n\n'a[bc]' = 'L0'\n",
        "c.toml:5: servers.s.tools.\"a[bc]\": '[' has no meaning in a pattern: only * (any characters) and ? (one character) have",
    ),
    (S + "tools.'' = 'L0'\n", 'c.toml:3: servers.s.tools."": expected a tool\'s name or a pattern, got an empty text'),
    (
        S + "inherit = ['*']\n",
        "c.toml:3: servers.s.inherit[0]: would pass on every variable, secrets included; name the ones the server needs",
    ),
    (S + "inherit = ['A*B']\n", "c.toml:3: servers.s.inherit[0]: 'A*B': a * may only stand at the end"),
    (S + "env = { 'A=B' = 'x' }\n", "c.toml:3: servers.s.env.\"A=B\": 'A=B' cannot be the name of an environment variable"),
    (S + 'env = { A = "x\\u0000" }\n', "c.toml:3: servers.s.env.A: a NUL character cannot be used here"),
    (
        S + "revision = '2025-11-26'\n",
        'c.toml:3: servers.s.revision: unknown protocol revision "2025-11-26"; known: 2026-07-28, 2025-11-25, 2025-06-18, '
        "2025-03-26, 2024-11-05; "
        'did you mean "2025-11-25"?',
    ),
    # command and url
    (
        "[servers.s]\nenabled = true\n",
        'c.toml:1: servers.s: needs either a command or a url: command = ["python3", "server.py"] or url = "https://…"',
    ),
    (S + "url = 'http://x'\n", "c.toml:3: servers.s.url: has both a command and a url; keep the one to use"),
    ("[servers.s]\ncommand = []\n", "c.toml:2: servers.s.command: names no program"),
    ("[servers.s]\nurl = ''\n", "c.toml:2: servers.s.url: expected text in quotes, got an empty text"),
    (
        "[servers.s]\nurl = 'ftp://x'\n",
        "c.toml:2: servers.s.url: expected a URL with http://, https://, ws://, wss://, unix:// or tcp://, got ftp:",
    ),
    (
        "[servers.s]\nurl = 'unix://run/x'\n",
        "c.toml:2: servers.s.url: a socket is named by an absolute path, as in unix:///run/server.sock",
    ),
    (
        "[servers.s]\nurl = 'tcp://10.0.0.7:7000'\n",
        "c.toml:2: servers.s.url: 'tcp://10.0.0.7:7000' is not on this machine, and plain TCP is neither encrypted nor authenticated: "
        "bring it here through a tunnel (ssh -L 7000:localhost:7000 …), or write tcp+unencrypted://10.0.0.7:7000 if everybody on "
        "the way may read and change it",
    ),
    (
        "[servers.s]\nurl = 'localhost'\n",
        "c.toml:2: servers.s.url: expected a URL with http://, https://, ws://, wss://, unix:// or tcp://, got no scheme",
    ),
    ("[servers.s]\nurl = 'http://'\n", "c.toml:2: servers.s.url: the URL names no host"),
    ("[servers.s]\nurl = 'http://h:99999/'\n", "c.toml:2: servers.s.url: not a valid URL: Port out of range 0-65535"),
    ("[servers.s]\nurl = 'http://h/a b'\n", "c.toml:2: servers.s.url: a URL cannot hold spaces or control characters"),
    (S + "headers = { A = 'b' }\n", "c.toml:3: servers.s.headers: is only for servers with a url"),
    ("[servers.s]\nurl = 'http://h'\nenv = { A = 'b' }\n", "c.toml:3: servers.s.env: is only for servers with a command"),
    (
        "[servers.s]\nurl = 'http://h'\nheaders = { 'A B' = 'b' }\n",
        "c.toml:3: servers.s.headers.\"A B\": 'A B' cannot be the name of an HTTP header",
    ),
    (
        '[servers.s]\nurl = "http://h"\nheaders = { A = "b\\r\\nX: y" }\n',
        "c.toml:3: servers.s.headers.A: a header's value is one line without control characters",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), SENTENCES, ids=[sentence[:60] for _, sentence in SENTENCES])
def test_each_mistake_has_one_sentence_with_file_line_and_key(text: str, sentence: str) -> None:
    """Our choice: the message names the thing, the value, and what was expected."""
    with pytest.raises(ConfigError) as caught:
        parse(text, Path("c.toml"))
    assert str(caught.value) == sentence
    assert caught.value.cli_exit == 2


def test_an_unknown_key_lists_the_known_ones_as_hint() -> None:
    """Our choice."""
    with pytest.raises(ConfigError) as caught:
        parse("[client]\nx = 1\n", Path("c.toml"))
    assert caught.value.hint == "known keys here: name, version"
    assert (caught.value.file, caught.value.line, caught.value.key) == ("c.toml", 2, "client.x")


REFUSED = [
    ("store = 'x'\n", "store"),
    ("[principals.me]\nelicitation = true\n", "principals"),
    ("[policy]\nservers = ['a']\n", "policy.servers"),
    ("[policy]\nask_from = 'x'\n", "policy.ask_from"),
    *((S + f"{key} = 1\n", f"servers.s.{key}") for key in ("auth", "sandbox", "boundaries", "egress", "ca_file", "scopes")),
    *((S + f"{key} = 1\n", f"servers.s.{key}") for key in ("labels", "scan", "rollout", "dry_run")),
    *((S + f"tools.t = {{ {key} = 1 }}\n", f"servers.s.tools.t.{key}") for key in ("undo", "labels", "rollout", "dry_run")),
]


@pytest.mark.parametrize(("text", "key"), REFUSED, ids=[key for _, key in REFUSED])
def test_protection_that_nothing_enforces_is_refused_instead_of_ignored(text: str, key: str) -> None:
    """Our choice: a sandbox that is silently left out would be a lie, also for a server that is switched off."""
    with pytest.raises(ConfigError) as caught:
        parse(text, Path("c.toml"))
    assert str(caught.value).endswith(
        f"{key}: not supported yet; loading the file without it would promise something that nothing enforces"
    )
    assert caught.value.hint == f'remove "{key.rpartition(".")[2]}" to go on without it'
    assert caught.value.line is not None


def test_keys_that_only_bring_comfort_are_loaded_with_a_warning() -> None:
    """Our choice."""
    config = parse(S + "tools.t = { tier = 'L0', preview = 'x' }\n", Path("c.toml"))
    assert config.servers["s"].tools["t"].tier == "L0"
    assert config.warnings == ("c.toml:3: servers.s.tools.t.preview: has no effect yet",)


def server(text: str, path: str = "/etc/d/dragoman.toml") -> ServerConfig:
    return parse(text, Path(path)).servers["s"]


@pytest.mark.parametrize(
    "changed",
    [
        S.replace("x", "y"),
        S + "env = { A = 'b' }\n",
        S + "cwd = '/tmp'\n",
        S + "inherit = ['A']\n",
        S + "default_tier = 'L0'\n",
        S + "tools.a = 'L0'\n",
        S + "limits.tools = 5\n",
    ],
)
def test_the_approved_hash_changes_with_all_that_an_approver_agrees_to(changed: str) -> None:
    """Our choice: approving a project file's server approves exactly what is started, and the tiers that count from then on."""
    assert server(changed).launch_hash() != server(S).launch_hash()


def test_the_approved_hash_stays_for_what_does_not_matter_and_differs_by_folder() -> None:
    """Our choice: `./server.py` in another folder is another program."""
    assert server("# note\n" + S + "enabled = false\n").launch_hash() == server(S).launch_hash()
    assert server(S, "/elsewhere/dragoman.toml").launch_hash() != server(S).launch_hash()


def complaint(text: str) -> str:
    try:
        parse(text, Path("c.toml"))
    except ConfigError as exc:
        return str(exc)
    return ""


def test_a_hint_offers_no_key_that_is_refused() -> None:
    """Our choice: whoever follows a hint must not run into the next error."""
    with pytest.raises(ConfigError) as caught:
        parse(S + "zzz = 1\n", Path("c.toml"))
    offered = (caught.value.hint or "").removeprefix("known keys here: ").split(", ")
    assert "command" in offered
    for key in set(offered) - {"command"}:
        assert "not supported yet" not in complaint(S + f"{key} = 1\n")


def test_how_a_server_is_kept_alive() -> None:
    """0 switches heartbeats off; resting after no time at all would be a server that is never up."""
    text = S + "heartbeat_s = 0\nidle_stop_s = 600\n"
    found = server(text)
    assert (found.heartbeat_s, found.idle_stop_s) == (0.0, 600.0)

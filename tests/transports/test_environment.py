"""What a server's process gets to see of our environment."""

from __future__ import annotations

from dragoman.transports.environment import child_environment

BASE = dict.fromkeys(
    [
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "TERM",
            "LANG",
            "LC_ALL",
            "LC_CTYPE",
            "TZ",
            "TMPDIR",
            "SSL_CERT_FILE",
            "NODE_EXTRA_CA_CERTS",
        ),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    ],
    "v",
)


def test_children_inherit_the_harmless_names_and_nothing_else() -> None:
    """DESIGN: the list of the command line page, both cases of the proxy variables."""
    ours = BASE | {
        "GITHUB_TOKEN": "t",
        "LD_PRELOAD": "x",
        "PYTHONPATH": "p",
        "path": "lower",
        "ALL_PROXY": "x",
        "DRAGOMAN_HOME": "h",
        "AWS_KEY": "k",
    }
    assert child_environment({}, (), ours) == BASE


def test_the_configuration_adds_names_patterns_and_values_and_its_values_win() -> None:
    """Our choice."""
    ours = {"PATH": "/bin", "AWS_KEY": "k", "AWS_REGION": "r", "TOKEN": "t", "TOKEN2": "no"}
    got = child_environment({"PATH": "/own", "NEW": "n"}, ("AWS_*", "TOKEN", "UNSET"), ours)
    assert got == {"PATH": "/own", "NEW": "n", "AWS_KEY": "k", "AWS_REGION": "r", "TOKEN": "t"}


def test_a_shell_function_in_a_variable_is_not_passed_on() -> None:
    """CVE-2014-6271; a value set by the configuration is a value."""
    assert child_environment({"X": "() {"}, ("Y",), {"LC_X": "() { :;}; id", "Y": "() { :;}"}) == {"X": "() {"}

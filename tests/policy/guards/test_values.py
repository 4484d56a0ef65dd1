"""The small guards: numbers, patterns, addresses of mail, commands."""

from __future__ import annotations

import pytest

from dragoman.errors import ConfigError, Problem
from dragoman.policy.guards.email import EmailGuard
from dragoman.policy.guards.range import RangeGuard
from dragoman.policy.guards.regex import RegexGuard
from dragoman.policy.guards.shell import ShellGuard
from tests.policy.guards.corpus import CALL, refused


async def test_numbers_outside_the_bounds_are_refused_with_the_bounds() -> None:
    """Our contract: truth values and texts are no numbers, whatever Python says."""
    guard = RangeGuard(1, 100)
    for good in (1, 100, 1.5):
        assert await guard.check(good, CALL) == good
    wrong: tuple[object, ...] = (0, 101, -1, 1e300, float("nan"), float("inf"), True, "5", None, [], 10**400)
    for bad in wrong:
        assert await refused(guard, bad), bad
    problem = await guard.check(101, CALL)
    assert isinstance(problem, Problem)
    assert problem.message == "expected a number, at least 1 and at most 100, got the number 101"
    assert not await refused(RangeGuard(most=5), -(10**9))


async def test_the_whole_text_has_to_match() -> None:
    """A search would let ``ok; rm -rf`` through, and a multi-line anchor a second line."""
    guard = RegexGuard("[a-z]+|[0-9]{3}")
    for good in ("abc", "123"):
        assert await guard.check(good, CALL) == good
    for bad in ("abc1", "1234", "", "abc\n", "\nabc", "abc\nabc", "a b", "12", 5, None):
        assert await refused(guard, bad), bad


async def test_a_pattern_that_is_slow_elsewhere_is_not_slow_here() -> None:
    """Nested repeats take other engines for ever."""
    assert await refused(RegexGuard("(a+)+b"), "a" * 50_000)


@pytest.mark.parametrize("pattern", ["(?=a)b", r"(a)\1", "(", "a)|(b", "(?<!x)y", "a{1000}{1000}{1000}"])
def test_a_pattern_without_a_linear_reading_is_refused_at_once(pattern: str) -> None:
    """Not at the first call."""
    with pytest.raises(ConfigError, match="cannot be used by the guard regex"):
        RegexGuard(pattern)


async def test_only_one_plain_address_of_an_allowed_domain() -> None:
    """Our contract."""
    guard = EmailGuard(["example.com", "*.example.org"])
    for good in ("ann@example.com", "a.b+c@EXAMPLE.com", "x@mail.example.org"):
        assert await guard.check(good, CALL) == good
    for bad in (
        "ann@evil.com",
        "ann@example.com.evil.com",
        "ann@example.org",
        "ann@evilexample.org",
        "ann@example.com,bob@evil.com",
        "ann@example.com; bob@evil.com",
        "ann@example.com bob@evil.com",
        "ann@example.com\nBcc: bob@evil.com",
        "ann@example.com\r\n",
        "Ann <ann@example.com>",
        '"bob@evil.com"@example.com',
        "bob%evil.com@example.com",
        "evil.com!bob@example.com",
        "@evil.com:ann@example.com",
        "ann@evil.com@example.com",
        "ann(x)@example.com",
        "group:bob@example.com;",
        "ann@[127.0.0.1]",
        ".ann@example.com",
        "ann..b@example.com",
        "ann@exаmple.com",
        "ann@example.com.",
        "a" * 65 + "@example.com",
        "ann",
        "",
        5,
    ):
        assert await refused(guard, bad), bad


async def test_without_a_list_no_command_is_allowed() -> None:
    """Our contract."""
    assert await refused(ShellGuard(), "ls")
    assert ShellGuard().describe() == "refuses every command"


async def test_only_plain_words_after_an_allowed_beginning() -> None:
    """Our contract: whole words, named options, nothing that a shell would read."""
    guard = ShellGuard(["git status", "ls"], ["-l", "--short"])
    for good in ("git status", "git status --short src", "ls -l", "ls a/b.txt", ["ls", "-l"], ["git", "status"]):
        assert await guard.check(good, CALL) == good
    for bad in (
        "git push",
        "git",
        "git statusx",
        "gitstatus",
        "lsof",
        "git -c core.pager=id status",
        "git status --output=x",
        "ls -R",
        "ls; id",
        "ls && id",
        "ls | sh",
        "ls & id",
        "ls\nid",
        "ls $(id)",
        "ls `id`",
        "ls $HOME",
        "ls ${IFS}id",
        "ls > x",
        "ls < x",
        "ls *",
        "ls ?",
        "ls ~",
        "ls {a,b}",
        "ls [a]",
        "ls 'a'",
        'ls "a"',
        "ls a\\ b",
        "ls #x",
        "ls !x",
        "ls ^x",
        "ls\tid",
        "ls\x00",
        "ls é",
        " ",
        "",
        "PATH=x ls",
        "/bin/ls",
        ["ls", "; id"],
        ["ls", "a b"],
        ["ls", 5],
        [],
        5,
        None,
    ):
        assert await refused(guard, bad), bad

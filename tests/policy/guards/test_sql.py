"""One statement that only reads, with a ceiling: what the lists hold, and what is sent instead."""

from __future__ import annotations

import sqlite3

import pytest
from sqlglot import exp

from dragoman.errors import Problem
from dragoman.policy.guards.sql import SqlGuard
from dragoman.policy.guards.sql_reading import Unreadable, write
from tests.policy.guards.corpus import CALL, cases, refused


async def _sent(sql: str, dialect: str = "postgres", limit: int | None = 1000, **more: tuple[str, ...]) -> str:
    sent = await SqlGuard(dialect, limit, **more).check(sql, CALL)
    assert isinstance(sent, str), f"{sql}: {sent}"
    return sent


async def _said(sql: str, dialect: str = "postgres", **more: tuple[str, ...]) -> str:
    problem = await SqlGuard(dialect, 1000, **more).check(sql, CALL)
    assert isinstance(problem, Problem), f"{sql}: {problem}"
    return problem.message


async def test_no_hostile_statement_of_the_list_gets_through() -> None:
    """Our contract: at least 300 ways round, none works."""
    rows = cases("sql_hostile")
    assert len(rows) >= 300
    assert [row for row in rows if not await refused(SqlGuard(row[1], 1000), row[2])] == []


async def test_no_honest_statement_of_the_list_is_refused() -> None:
    """Our contract: at least 200 that people ask."""
    rows = cases("sql_honest")
    assert len(rows) >= 200
    assert [row for row in rows if await refused(SqlGuard(row[1], 1000), row[2])] == []


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("SELECT a FROM t", "SELECT a FROM t LIMIT 1000"),
        ("SELECT a FROM t LIMIT 5", "SELECT a FROM t LIMIT 5"),
        ("SELECT a FROM t LIMIT 5000", "SELECT a FROM t LIMIT 1000"),
        ("SELECT a FROM t LIMIT ALL", "SELECT a FROM t LIMIT 1000"),
        ("SELECT a FROM t LIMIT NULL", "SELECT a FROM t LIMIT 1000"),
        ("SELECT a FROM t LIMIT 1 + 5000", "SELECT a FROM t LIMIT 1000"),
        ("SELECT a FROM t LIMIT '5000'", "SELECT a FROM t LIMIT 1000"),
        ("SELECT a FROM t LIMIT 5000 OFFSET 3", "SELECT a FROM t LIMIT 1000 OFFSET 3"),
        ("SELECT a FROM t UNION ALL SELECT a FROM u", "SELECT a FROM t UNION ALL SELECT a FROM u LIMIT 1000"),
        ("SELECT a FROM (SELECT a FROM t LIMIT 5000) AS x", "SELECT a FROM (SELECT a FROM t LIMIT 5000) AS x LIMIT 1000"),
        ("SELECT a FROM t FETCH FIRST 5000 ROWS ONLY", "SELECT a FROM t FETCH FIRST 1000 ROWS ONLY"),
    ],
)
async def test_the_ceiling_is_in_the_statement_that_is_sent(written: str, sent: str) -> None:
    """DESIGN: guards rewrite before sending."""
    assert await _sent(written) == sent


async def test_a_negative_limit_is_no_way_round_the_ceiling_and_the_sent_statement_runs() -> None:
    """SQLite takes -1 as no limit; shown on a real database."""
    with sqlite3.connect(":memory:") as database:
        database.executescript("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2), (3), (4), (5)")
        for written in (
            "SELECT a FROM t LIMIT -1",
            "SELECT a FROM t",
            "SELECT a FROM t UNION ALL SELECT a FROM t",
            "SELECT a FROM t LIMIT 0x7f",
        ):
            assert len(database.execute(await _sent(written, "sqlite", 3)).fetchall()) == 3
    database.close()


async def test_a_ceiling_in_the_words_of_the_dialect() -> None:
    """T-SQL has no LIMIT."""
    assert await _sent("SELECT a FROM t", "tsql") == "SELECT TOP 1000 a FROM t"
    assert await _sent("SELECT TOP 5000 a FROM t", "tsql") == "SELECT TOP 1000 a FROM t"


async def test_only_named_schemas_and_tables_are_read_and_a_bare_table_is_sent_with_its_schema() -> None:
    """Our contract: what was checked is what the server sees, whatever its search path says."""
    assert await _sent("SELECT a FROM orders", schemas=("shop",)) == "SELECT a FROM shop.orders LIMIT 1000"
    assert await _sent("SELECT a FROM Orders", tables=("orders",)) == "SELECT a FROM Orders LIMIT 1000"
    assert "allowed: shop.*" in await _said("SELECT a FROM hr.pay", schemas=("shop",))
    for hidden in (
        "SELECT 1 FROM orders JOIN pay ON TRUE",
        "SELECT (SELECT max(x) FROM pay) FROM orders",
        "SELECT 1 FROM orders WHERE a IN (SELECT a FROM pay)",
        "SELECT 1 FROM orders UNION SELECT a FROM pay",
        "WITH x AS (SELECT * FROM pay) SELECT * FROM x",
        "WITH pay AS (SELECT * FROM pay) SELECT * FROM pay",
        "SELECT * FROM pay WHERE 1 IN (WITH pay AS (SELECT 1) SELECT 1 FROM pay)",
        'WITH "PAY" AS (SELECT 1) SELECT * FROM PAY',
        "WITH a AS (SELECT * FROM pay), pay AS (SELECT 1) SELECT * FROM a",
        "SELECT * FROM orders, LATERAL (SELECT * FROM pay) AS p",
        "SELECT * FROM hr.orders",
        "SELECT * FROM elsewhere.shop.orders",
        "SELECT count(*) FILTER (WHERE EXISTS(SELECT 1 FROM pay)) FROM orders",
        "SELECT * FROM orders ORDER BY (SELECT a FROM pay)",
    ):
        assert "pay" in await _said(hidden, tables=("orders",)) or "orders" in await _said(hidden, tables=("orders",))
    own = "WITH pay AS (SELECT 1 AS a) SELECT a FROM pay"
    assert await _sent(own, tables=("orders",)) == f"{own} LIMIT 1000"
    nested = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r"
    assert await _sent(nested, tables=("orders",)) == f"{nested} LIMIT 1000"


async def test_writes_of_named_kinds_stand_alone_and_say_which_rows() -> None:
    """Our contract."""
    kinds = ("select", "update", "delete", "insert")
    assert await _sent("UPDATE t SET a = 1 WHERE id = 2", kinds=kinds) == "UPDATE t SET a = 1 WHERE id = 2"
    assert await _sent("INSERT INTO t (a) VALUES (1) RETURNING id", kinds=kinds) == "INSERT INTO t (a) VALUES (1) RETURNING id"
    assert "needs a WHERE" in await _said("DELETE FROM t", kinds=kinds)
    assert "needs a WHERE" in await _said("UPDATE t SET a = 1", kinds=kinds)
    assert "inside another statement" in await _said("WITH x AS (DELETE FROM t WHERE a = 1 RETURNING a) SELECT a FROM x", kinds=kinds)
    assert "only SELECT" in await _said("DELETE FROM t WHERE a = 1")
    assert "pg_sleep" in await _said("UPDATE t SET a = pg_sleep(1) WHERE id = 2", kinds=kinds)


async def test_a_function_can_be_allowed_by_name() -> None:
    """Our contract; with its schema where it has one."""
    assert "my_score" in await _said("SELECT my_score(a) FROM t")
    assert await _sent("SELECT my_score(a) FROM t", "postgres", None, functions=("my_score",)) == "SELECT MY_SCORE(a) FROM t"
    assert "util.score" in await _said("SELECT util.score(a) FROM t", functions=("score",))
    assert (await _sent("SELECT util.score(a) FROM t", "postgres", None, functions=("util.score", "score"))).startswith("SELECT util.")


async def test_long_deep_and_wordy_statements_are_refused_before_they_cost_anything() -> None:
    """A parser must not be what an attacker spends our time with."""
    assert "characters" in await _said("SELECT " + "1," * 20_000 + "1")
    assert "words" in await _said("SELECT " + "1," * 3000 + "1")
    assert "deeper" in await _said("SELECT " + "(" * 50 + "1" + ")" * 50)
    for text in ("SELECT " + "NOT " * 3000 + "1", "SELECT 1" + " + 1" * 1900, "SELECT " + "- " * 3000 + "1"):
        await SqlGuard("postgres", 10).check(text, CALL)
    assert "as text" in (await SqlGuard("postgres").check(5, CALL)).message


def test_what_would_read_differently_once_written_is_not_sent() -> None:
    """The last line of defence: a name that was understood as one thing and is written as another."""
    odd = exp.select(exp.Column(this=exp.Identifier(this="a -- b", quoted=False)))
    with pytest.raises(Unreadable, match="more than one way"):
        write(odd, "postgres")

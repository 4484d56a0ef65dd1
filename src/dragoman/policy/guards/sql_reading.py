"""Reads one statement into a tree, and writes a tree as the text that is sent; refuses what is unclear. Imports sqlglot."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import TokenType

# It warns of what it takes for a command; here that is refused, and a log line per refusal would help nobody.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

#: Inside these a backslash may or may not escape a quote, by a setting of the server.
_PLAIN_STRINGS = frozenset({"postgres", "redshift", "sqlite", "tsql", "oracle", "duckdb", "snowflake", "trino", "presto"})


class Unreadable(Exception):
    """A statement cannot be read, or not in one way only; the message is for the model. Never leaves the guard."""


def read(text: str, dialect: str, *, deepest: int, most_tokens: int) -> exp.Expr:
    """The one statement in a text.

    Raises:
        Unreadable: It has comments, several statements, no statement, or what is no SQL of this dialect.
    """
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, RecursionError, ValueError) as exc:
        raise Unreadable(f"this cannot be read as {dialect} SQL") from exc
    if len(tokens) > most_tokens:
        raise Unreadable(f"the statement has {len(tokens)} words, at most {most_tokens} are read")
    depth = 0
    for token in tokens:
        if token.comments or token.token_type in (TokenType.HINT, TokenType.COMMENT):
            raise Unreadable("comments and hints are not allowed; send the statement without them")
        depth += token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
        depth -= token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
        if depth > deepest:
            raise Unreadable(f"the statement is nested deeper than {deepest} levels; write it simpler")
        if token.token_type is TokenType.STRING and dialect in _PLAIN_STRINGS and ("\\'" in token.text or token.text.endswith("\\")):
            raise Unreadable("a backslash before a quote means different things to different servers; write the text without it")
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise Unreadable("expected one SQL statement, got none")
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise Unreadable("only one statement is allowed in one call; send them one by one")
    try:
        found = Dialect.get_or_raise(dialect).parser(error_level=ErrorLevel.RAISE).parse(tokens, text)
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError, IndexError, KeyError) as exc:
        raise Unreadable(f"this cannot be read as one {dialect} statement; write plainer SQL") from exc
    if len(found) != 1 or found[0] is None:
        raise Unreadable("only one statement is allowed in one call; send them one by one")
    return found[0]


def write(statement: exp.Expr, dialect: str) -> str:
    """The text of a statement, which reads as the same statement.

    Raises:
        Unreadable: It cannot be written so that it reads the same.
    """
    try:
        text: str = statement.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
        again = sqlglot.parse_one(text, dialect=dialect).sql(dialect=dialect, comments=False)
    except (SqlglotError, ValueError, AttributeError, TypeError) as exc:
        raise Unreadable(f"this has no plain form in {dialect} SQL; write it simpler") from exc
    if again != text:
        raise Unreadable(f"this can be read in more than one way in {dialect} SQL; write it simpler")
    return text

"""Reads Chinese names and descriptions for the deeds they speak of, clause by clause, the longest known word at each place."""

from __future__ import annotations

from typing import Final, NamedTuple

from dragoman.policy.triage_english import Verdict
from dragoman.policy.triage_words import (
    CHINESE,
    CHINESE_BREAKS,
    CHINESE_FACTS,
    CHINESE_MAKING,
    CHINESE_NOT,
    CHINESE_NOUNS_TOO,
    CHINESE_PAIRS,
    CHINESE_SMALL_THINGS,
    CHINESE_TAKING_OFF,
)
from dragoman.wire.tier import TIERS, Tier

_TIER_OF: Final[dict[str, Tier]] = {word: tier for tier, words in CHINESE.items() for word in words}
_LONGEST: Final = max(map(len, _TIER_OF))
_STUCK_ON: Final = ("标签", "收藏", "书签", "星标", "备注", "提醒")
_HISTORY: Final = ("记录", "历史", "状态", "日志", "明细", "进度")
_FIRST: Final = frozenset(word[0] for word in _TIER_OF)


class _Deed(NamedTuple):
    word: str
    tier: Tier
    behind: str


class _Clause(NamedTuple):
    text: str
    deeds: list[_Deed]


def of_text(text: str) -> Verdict | None:
    """What a text says; ``None`` where there is no known word of Chinese."""
    if text.isascii():
        return None
    found = [verdict for clause in _clauses(text) if (verdict := _of_clause(clause)) is not None]
    if not found:
        return None
    best = max(found, key=lambda verdict: TIERS.index(verdict.tier))
    above = [verdict for verdict in found if TIERS.index(verdict.tier) >= 2]
    return best._replace(makes=bool(above) and all(verdict.makes for verdict in above))


def _of_clause(clause: _Clause) -> Verdict | None:
    counted = [deed for place, deed in enumerate(clause.deeds) if not _is_thing(place, deed, clause)]
    verdicts = []
    for deed in counted:
        best = Verdict(deed.tier, f'"{deed.word}"{{where}}', makes=deed.word in CHINESE_MAKING)
        for verbs, things, tier, why in CHINESE_PAIRS:
            thing = next((thing for thing in things if thing in clause.text), None) if deed.word in verbs else None
            if thing is not None and TIERS.index(tier) > TIERS.index(best.tier):
                best = Verdict(tier, f'"{deed.word}" and "{thing}"{{where}}: {why}')
        verdicts.append(best)
    if not verdicts:
        return None
    strongest = max(verdicts, key=lambda verdict: TIERS.index(verdict.tier))
    strong = {deed.word for deed in counted if deed.tier == "L2"}
    if strongest.tier == "L2" and strong:
        small = strong <= CHINESE_MAKING and any(thing in clause.text for thing in CHINESE_SMALL_THINGS)
        loose = strong <= CHINESE_TAKING_OFF and any(thing in clause.text for thing in _STUCK_ON)
        if small or loose:
            return Verdict("L1", f"{strongest.reason}: easily taken back")
    return strongest


def _is_thing(place: int, deed: _Deed, clause: _Clause) -> bool:
    """Whether a word that tells of a deed is a thing here: the 退款 in 查询退款记录."""
    if deed.tier == "L0":
        return False
    if place == 0:
        return deed.behind.startswith(_HISTORY) and any(other.tier == "L0" for other in clause.deeds[1:])
    if deed.word in CHINESE_NOUNS_TOO and not deed.behind.strip("的了 "):
        return True
    return clause.deeds[0].tier == "L0" and deed.behind.startswith(CHINESE_FACTS)


def _clauses(text: str) -> list[_Clause]:
    clauses: list[_Clause] = []
    deeds: list[tuple[str, Tier, int]] = []
    start = place = 0

    def close(end: int) -> None:
        if deeds:
            said = text[start:end]
            clauses.append(_Clause(said, [_Deed(word, tier, text[behind:end]) for word, tier, behind in deeds]))
        deeds.clear()

    while place < len(text):
        word = _word_at(text, place) if text[place] in _FIRST else None
        if word is not None:
            if not text[start:place].endswith(CHINESE_NOT):
                deeds.append((word, _TIER_OF[word], place + len(word)))
            place += len(word)
            continue
        if text[place] in CHINESE_BREAKS:
            close(place)
            start = place + 1
        place += 1
    close(len(text))
    return clauses


def _word_at(text: str, place: int) -> str | None:
    for length in range(_LONGEST, 0, -1):
        if (word := text[place : place + length]) in _TIER_OF and len(word) == length:
            return word
    return None

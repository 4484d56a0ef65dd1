"""Reads English names (``deleteFile``, ``delete_file``, ``delete-file``) and descriptions for the deeds they speak of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from dragoman.policy.triage_words import FACTS, MAKING, NOUNS_TOO, PAIRS, SMALL_THINGS, STUCK_ON, TAKING_OFF, VERBS
from dragoman.policy.triage_words import words as _set
from dragoman.wire.tier import TIERS, Tier


class Verdict(NamedTuple):
    """What words say. ``reason`` holds ``{where}`` for the place; ``makes``: all that it does above L1 is to make or keep something."""

    tier: Tier
    reason: str
    makes: bool = False


_TIER_OF: Final[dict[str, Tier]] = {word: tier for tier, words in VERBS.items() for word in words}
_HUMPS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_WORDS: Final = re.compile(r"[a-z@']+(?:-[a-z]+)*|[.;:!?\n,()\u2014\u2013\u2022]")
_STOPS: Final = frozenset(".;:!?\n,()\u2014\u2013\u2022")
_ENDS: Final = frozenset(".;!?\n")
_JOINS: Final = _set("and then or to will can may also by would should must which that it this tool")
_BEING: Final = _set("be is are gets being been")
_PLACES: Final = _set("to in on for from with by at of under into onto as via using inside within")
_NOT: Final = _set("not never without cannot don't doesn't won't can't no nor before instead")
_THE: Final = _set("the a an this that these all every your it them each any one its their some funds money")
_LOOSE: Final = _set("draft temp tmp tmpfile temporary scratch sandbox scratchpad")  # what they stand before is small, too
_ALL_OVER: Final = "reaches everybody"


def words_of(name: str) -> list[str]:
    """The words of a name, in lower case: split at humps, digits and whatever is no letter; words glued together are taken apart."""
    found: list[str] = []
    for word in _HUMPS.findall(name[:200]):
        lowered = word.lower()
        found.extend(_apart(lowered))
    return found


def of_name(name: str, *, reads: bool | None) -> Verdict | None:
    """What a name says; ``None`` where no word of it is known.

    Args:
        reads: Whether its description says that it only reads; ``None``: it has none.
    """
    words = [_base(word, being=False) or word for word in words_of(name)]
    deeds = [(place, word) for place, word in enumerate(words) if word in _TIER_OF and not _is_thing(place, words, reads)]
    if not deeds:
        things = [word for word in words if word in _TIER_OF]
        return Verdict("L0", f'"{words[-1]}"{{where}}') if reads is not False and things and words[-1] in FACTS else None
    verdicts = [_paired(word, words, words[place + 1 :], deeds) for place, word in deeds]
    if any(_follows_and(place, words) and word not in _TIER_OF and word not in FACTS for place, word in enumerate(words)):
        verdicts.append(Verdict("L2", "a second deed that is not known{where}"))
    best = max(verdicts, key=lambda verdict: TIERS.index(verdict.tier))
    return _lowered(best, [word for _, word in deeds], words)


def of_text(text: str) -> Verdict | None:
    """What a description says: only words where a sentence puts its verbs; ``None`` where there are none."""
    words = _WORDS.findall(re.sub(r"[‘’]", "'", text.lower()))
    verdicts: list[Verdict] = []
    for start, sentence in _sentences(words):
        if sentence[:2] in (["if", "you"], ["when", "you"]) or sentence[:1] in (["prefer"], ["avoid"], ["see"]):
            continue
        for place, written in enumerate(sentence):
            word = _deed_at(place, sentence, first=start == 0)
            if word is None or _NOT & set(sentence[max(0, place - 4) : place]):
                continue
            behind = _until(sentence[place + 1 :], _ENDS)
            if word in ("execute", "run", "perform") and {"select", "read-only", "search", "readonly"} & set(behind[:3]):
                word = "query"
            verdict = _paired(word, [written, *behind], behind, [(0, word)])
            small = verdict.tier == "L2" and word in MAKING and (SMALL_THINGS | _LOOSE) & set(_until(behind, _PLACES | _STOPS))
            loose = verdict.tier == "L2" and word in TAKING_OFF and STUCK_ON & set(_until(behind, _PLACES | _STOPS))
            verdicts.append(Verdict("L1", verdict.reason) if small or loose else verdict)
    if not verdicts:
        return None
    best = max(verdicts, key=lambda verdict: TIERS.index(verdict.tier))
    above = [verdict for verdict in verdicts if TIERS.index(verdict.tier) >= 2]
    return best._replace(makes=bool(above) and all(verdict.makes for verdict in above))


def _is_thing(place: int, words: Sequence[str], reads: bool | None) -> bool:
    """Whether a word that can be both is a thing here."""
    word = words[place]
    if word not in NOUNS_TOO or _follows_and(place, words):
        return False
    if place and _TIER_OF.get(words[place - 1]) == "L1" and _TIER_OF[word] != "L3":
        return True
    if place and words[place - 1] in _PLACES and _TIER_OF[word] != "L3":
        return True
    if place + 1 < len(words) and words[place + 1] in FACTS and reads is not False:
        return True
    asks = any(_TIER_OF.get(other) == "L0" for other in words[:place]) or words[-1] in FACTS or _TIER_OF.get(words[-1]) == "L0"
    # Without a description ``get_refund`` may be the getting of one.
    return asks and (reads is True or (reads is None and (_TIER_OF[word] != "L3" or place + 1 < len(words))))


def _follows_and(place: int, words: Sequence[str]) -> bool:
    return place > 0 and words[place - 1] in ("and", "then", "or", "also")


def _paired(word: str, words: Sequence[str], behind: Sequence[str], deeds: Sequence[tuple[int, str]]) -> Verdict:
    """What a deed is, done to what stands behind it (and, in a name, before it)."""
    tier: Tier = _TIER_OF.get(word, "L2")
    best = Verdict(tier, f'"{word}"{{where}}', makes=word in MAKING)
    direct = {*_until(behind, _PLACES | _STOPS), *(words[: deeds[0][0]] if deeds else ())}
    for verbs, things, paired, why in PAIRS:
        if word not in verbs or TIERS.index(paired) <= TIERS.index(best.tier):
            continue
        if thing := things & (set(words) if why == _ALL_OVER else direct | ({"in", "out"} & set(behind[:1]))):
            best = Verdict(paired, f'"{word}" and "{min(thing)}"{{where}}: {why}')
    return best


def _lowered(best: Verdict, deeds: Sequence[str], words: Sequence[str]) -> Verdict:
    """L1 instead of L2 where all that is done is to make, or take off, something small."""
    strong = [word for word in deeds if _TIER_OF[word] == "L2"]
    if best.tier != "L2" or not strong:
        return best
    thing = _until(words, _PLACES)
    last = thing[-1] if thing else ""
    if all(word in MAKING for word in strong) and (last in SMALL_THINGS or _LOOSE & set(words)):
        return Verdict("L1", f'"{strong[0]}" and "{last}"{{where}}: easily taken back')
    if all(word in TAKING_OFF for word in strong) and last in STUCK_ON:
        return Verdict("L1", f'"{strong[0]}" and "{last}"{{where}}: easily put on again')
    return best


def _deed_at(place: int, sentence: Sequence[str], *, first: bool) -> str | None:
    """The deed that a word of a sentence is, in its base form; ``None`` where it is something else."""
    before = place - 1
    while before >= 0 and sentence[before].endswith("ly"):
        before -= 1
    previous = sentence[before] if before >= 0 else "."
    being = previous in _BEING
    word = _base(sentence[place], being=being, third=True)
    if word is None or not (previous in _STOPS or previous in _JOINS or being):
        return None
    following = sentence[place + 1] if place + 1 < len(sentence) else "."
    if word in NOUNS_TOO:
        if following in FACTS:
            return None
        opens = before < 0 or previous in ("will", "can", "may")
        if not opens and not being and following not in _THE:
            return None
    if previous == "," and sentence[place] != word and not sentence[place].endswith("ing") and following in _STOPS:
        return None  # one of a list of things
    return word


def _base(word: str, *, being: bool, third: bool = False) -> str | None:
    """The base form of a known verb: of *-ing*, of *-s* (``third``), of *-ed* behind a form of *be*; ``None`` where it is not known."""
    if being:
        for end, instead in (("ed", ""), ("ed", "e"), ("d", ""), ("en", ""), ("ied", "y"), ("ten", "te")):
            if word.endswith(end) and (base := word.removesuffix(end) + instead) in _TIER_OF:
                return base
        stem = word.removesuffix("ed")
        if stem != word and len(stem) > 2 and stem[-1] == stem[-2] and stem[:-1] in _TIER_OF:
            return stem[:-1]
        return {"sent": "send", "written": "write", "paid": "pay", "overwritten": "overwrite", "sold": "sell"}.get(word)
    if word in _TIER_OF:
        return word
    if word.endswith("ing"):
        stem = word[:-3]
        for base in (stem, stem + "e", stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else ""):
            if base in _TIER_OF:
                return base
    if third and word.endswith("s"):
        for base in (word[:-1], word[:-2] if word.endswith("es") else "", word[:-3] + "y" if word.endswith("ies") else ""):
            if base in _TIER_OF:
                return base
    return None


def _apart(word: str) -> list[str]:
    """``sendemail`` as two words, where the first is a known deed and the rest a word of the table, too."""
    if word in _TIER_OF or word in FACTS or len(word) < 6 or _base(word, being=False) is not None:
        return [word]
    for cut in range(len(word) - 2, 2, -1):
        if word[:cut] in _TIER_OF and word[cut:] in _VOCABULARY:
            return [word[:cut], word[cut:]]
    return [word]


def _sentences(words: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Sentences with the place where each begins."""
    found: list[tuple[int, list[str]]] = []
    current: list[str] = []
    for place, word in enumerate(words):
        if word in _ENDS:
            if current:
                found.append((place - len(current), current))
            current = []
        else:
            current.append(word)
    return [*found, (len(words) - len(current), current)] if current else found


def _until(words: Sequence[str], ends: frozenset[str]) -> list[str]:
    """The words before the first of ``ends``."""
    place = next((place for place, word in enumerate(words) if word in ends), len(words))
    return list(words[:place])


_VOCABULARY: Final = frozenset().union(*VERBS.values(), SMALL_THINGS, FACTS, *(things for _, things, _, _ in PAIRS), {"file", "files"})

"""Foreign words that are used in running prose, weighed by how surely they are no names, terms or mentions.

A word counts where it has grown together with the words around it, or stands between two of them without a label, a list sign or a gloss. What tells a
name from a switch differs by language: grammar in Chinese and Korean words, small letters in Cyrillic ones, characters that the language does not have.
Latin words are never foreign: every language borrows them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from detector.signals.foreign_lines import foreign_lines
from detector.signals.foreign_topics import is_about
from detector.signals.latin_slots import is_word_of_the_sentence
from detector.signals.scripts import JAPANESE_KANA_SHARE, SCRIPTS, Run, hanja, only_simplified, simplified_count

EAST = frozenset({"han", "kana", "hangul"})
# Characters of grammar: with them a run of Han is a sentence or an adverb, without them it may be a name.
CHINESE_GRAMMAR = re.compile(
    "然后|但是|因此|另外|此外|由于|由於|为了|為了|例如|尽管|即使|于是|接下来|因为|因為|所以|如果|虽然|而且|或者|需要|应该|可以|我们|你们|他们|非常|进行|通过|对于|以及|已经|不是|还有|没有|沒有|什么|怎么|并且|最后|首先|不会|都是|一个|这个|这些|"
    "[的了是很也就都吗呢吧们這們嗎麼您她它你我他把被让]"
)
_KOREAN_GRAMMAR = re.compile("(?:[을를은는이가에의와과도로만]|니다|하는|하고|해서|에서|으로|입니|했다|한다|하게|하여|된|들|어요|아요|세요)$")
_JAPANESE_GRAMMAR = re.compile("^(?:それから|しかし|そして|または|ただし|なので|だから)$|(?:です|ます|ました|ません|ください|ので|ながら)$")
_LABEL_BEFORE = re.compile(r"(?:^|[:：=→⇒|/·•—–~>#@\t-]|[,、，;；])[ \t*_]*$", re.MULTILINE)
_LIST_BEFORE = re.compile(r"(?:^|[:：=→⇒|/·•—–~>#@\t-])[ \t*_]*$", re.MULTILINE)
_LABEL_AFTER = re.compile(r"[ \t*_]*(?:[:：=→⇒|/—–(（\ue002]|[,、，])")
_CONJUNCTION = re.compile(r"\b(?:and|or|und|oder|et|ou|y|o|e|with|as|named|called|like|the|a|an|of|from|by|in|at|to|и|или)[ ,]*$", re.IGNORECASE)
_LISTED = re.compile(r"(?:\b(?:and|or|und|oder|et|ou|y|o|e|и|или)|,)[ ,]*$", re.IGNORECASE)
SOUP = re.compile(r"[)}\]]{2,};?(?=\s|$)|\}\]|__\(|&?nbsp;|\w\(\)\w|[;,]{2,}|\s,,")
# Single Hanja that Korean newspapers use as words: countries, parties, before, late, new, female, big …
_NEWSPAPER = frozenset("美日中北南韓英獨佛露伊印蘇前後現故新舊反親對非無總各每第女男與野檢警靑株氏外未不再超脫半單多訪駐在")
SENTENCE = 6  # Han characters with two words of grammar among them: part of a sentence, whatever its topic
WHOLE_SENTENCE = 8
LONGEST_HEAD = 200  # characters of a line before a word in which a label is looked for
NEAR = 24  # characters around a word in which a text says that it speaks about it
_SPOKEN_ABOUT = re.compile(
    r"\b(?:words?|terms?|means?|meaning|called|phrase|characters?|letters?|symbol|written|spel(?:t|led)|pronounced|known as|palabra|mot|wort|heißt|bedeutet"
    r"|say|says|saying|greet\w*)\b|"
    r"뜻|의미|단어|글자|낱말|표기|意思|叫做|叫作|称为|写作|读作|という|意味|слово|означает",
    re.IGNORECASE,
)
_NAMING = re.compile("이?(?:라는|라고|란 |라 |라면|라 )")
_LATIN_INSIDE = re.compile("[а-яё]{2}[a-z]{2,}[а-яё]")  # a Latin stem with a Russian ending begins the word; here the Latin piece is inside
_HAN, _KANA = (re.compile(f"[{SCRIPTS[name]}]") for name in ("han", "kana"))
_LOWER = re.compile(r"[a-zß-öø-ÿ]")


class Switch(NamedTuple):
    """What was found: `subtype` of the signal and a reason without content."""

    subtype: str
    reason: str


def used_words(text: str, found: list[Run], main: str, content: str, user_text: str | None) -> Switch | None:
    """Foreign runs that are used in the prose of the main language."""
    own = {"ko": {"hangul"}, "zh": {"han"}, "ja": {"han", "kana"}}.get(main, {main})
    kana_is_foreign = main != "zh" or not _has_japanese(content)
    glued: list[Run] = []
    between: list[Run] = []
    for place, run in enumerate(found):
        if run.script in own or run.script == "latin" or (run.script == "kana" and not kana_is_foreign):
            continue
        before = found[place - 1] if place else None
        after = found[place + 1] if place + 1 < len(found) else None
        if _is_glued(run, before, after, own):
            if not (main == "ko" and _is_named(text, run, before)):
                glued.append(run)
        elif _is_between(text, run, before, after, own):
            between.append(run)
    switch = _simplified_in_japanese(text, content, user_text) if main == "ja" else None
    switch = switch or _evidence(text, glued, between, main, content, user_text)
    if switch is None and main in ("zh", "ja", "ko"):
        lines = foreign_lines(text, main, lambda run: _is_asked(run, content, user_text) or (run.script == "kana" and not kana_is_foreign))
        if lines is not None:
            switch = Switch(
                "language_switch", f"{lines[0]} headings, labels or sentences in another language than {main}, scripts: {', '.join(sorted(lines[1]))}"
            )
    return switch


def _has_japanese(content: str) -> bool:
    """With its quotations the text has as many kana as Japanese has."""
    kana = len(_KANA.findall(content))
    return kana > 0 and kana >= JAPANESE_KANA_SHARE * (kana + len(_HAN.findall(content)))


def _is_glued(run: Run, before: Run | None, after: Run | None, own: set[str]) -> bool:
    """No blank between the run and a word of the main language."""
    return (before is not None and before.end == run.start and before.script in own) or (after is not None and after.start == run.end and after.script in own)


def _is_named(text: str, run: Run, before: Run | None) -> bool:
    """A Korean particle after a word that is listed or spoken about: `…, 华为가`, `音讀이라는 말`."""
    if _NAMING.match(text, run.end):
        return True
    return (before is None or before.end < run.start) and _LABEL_BEFORE.search(
        text[max(text.rfind("\n", 0, run.start) + 1, run.start - LONGEST_HEAD) : run.start]
    ) is not None


def _is_between(text: str, run: Run, before: Run | None, after: Run | None, own: set[str]) -> bool:
    """Words of the main language on one side at least, no label, list sign or gloss at either."""
    line_start = text.rfind("\n", 0, run.start) + 1
    head = text[max(line_start, run.start - LONGEST_HEAD) : run.start]
    sentence = len(run.text) >= 4 and run.script in EAST and (len(CHINESE_GRAMMAR.findall(run.text)) >= 2 or _KOREAN_GRAMMAR.search(run.text) is not None)
    sentence = sentence or _is_chinese_sentence(text, run) or (len(run.text) >= 2 and CHINESE_GRAMMAR.fullmatch(run.text) is not None)
    goes_on = (  # a list would go on with a comma, or have begun with another foreign word
        "han" in own
        and before is not None
        and before.script in own
        and after is not None
        and after.script in own
        and not text[run.end : after.start].strip(" ")
    )
    if (_LIST_BEFORE if sentence or goes_on else _LABEL_BEFORE).search(head) or (_LABEL_AFTER.match(text, run.end) and not sentence):
        return False
    ends = " ,.!?，。！？" if sentence else " "
    near_before = before is not None and before.script in own and text[before.end : run.start].strip(ends) == ""
    near_after = goes_on or (after is not None and after.script in own and text[run.end : after.start].strip(" ") == "")
    return near_before or near_after


def _is_chinese_sentence(text: str, run: Run) -> bool:
    """A long run in simplified characters that a Chinese full stop ends: no name."""
    return (
        run.script == "han"
        and len(run.text) >= WHOLE_SENTENCE
        and text[run.end : run.end + 1] in ("。", "！", "？", "，")
        and simplified_count(run.text) >= 2
        and CHINESE_GRAMMAR.search(run.text) is not None
    )


def _evidence(text: str, glued: list[Run], between: list[Run], main: str, content: str, user_text: str | None) -> Switch | None:
    weigh = {"ko": _weight_in_korean, "zh": _weight_in_chinese, "ja": _weight_in_japanese, "latin": _weight_in_latin}.get(main, _weight_elsewhere)
    weight, surest, scripts, places = 0.0, 0.0, set[str](), 0
    if main == "cyrillic" and (mixed := _LATIN_INSIDE.findall(text)):
        weight, places = float(len(mixed)), len(mixed)
        scripts.add("latin")
    for runs_, is_glued in ((glued, True), (between, False)):
        for run in runs_:
            if _is_asked(run, content, user_text) or _SPOKEN_ABOUT.search(text[max(0, run.start - NEAR) : run.end + NEAR]):
                continue
            this = weigh(text, run, is_glued)
            if this > 0:
                weight, places, surest = weight + this, places + 1, max(surest, this)
                scripts.add("han" if run.script == "kana" else run.script)
    if main == "latin" and surest >= 0.5 and places >= 2 and scripts == {"han"}:
        weight = max(weight, 0.5 * places)  # one surely Chinese word makes the others Chinese too
    if weight and len(scripts) >= 2:
        weight += 0.5 * (len(scripts) - 1) + (0.5 if SOUP.search(text) else 0.0)
    if weight < 1:
        return None
    subtype = "spliced_scripts" if len(scripts) >= 2 else "language_switch"
    return Switch(subtype, f"{places} foreign words used in {main} prose, scripts: {', '.join(sorted(scripts))}")


def _is_asked(run: Run, content: str, user_text: str | None) -> bool:
    """The text or the request is about that script, or the request brought these very words."""
    if user_text is not None and run.text in user_text:
        return True
    return _about(run.script, content, user_text)


@lru_cache(maxsize=4)  # a text may hold thousands of runs of one script
def _about(script: str, content: str, user_text: str | None) -> bool:
    return is_about(script, content, user_text)


def _weight_in_korean(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script == "han":
        alien = any(character not in hanja() for character in run.text)
        if not alien and (size == 1 or set(run.text) <= _NEWSPAPER):
            return 0.0
        if size >= 2 and sum(map(len, CHINESE_GRAMMAR.findall(run.text))) * 3 >= 2 * size:
            return 1.0
        if alien:
            return 1.0 if size >= 2 else 0.5
        return 1.0 if glued else 0.5
    if run.script == "kana":
        return 0.0 if run.text in ("の", "ー") else 1.0 if glued and size >= 2 else 0.5
    return _weight_of_far(run, glued)


def _weight_in_chinese(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script == "kana":
        return 0.0 if run.text in ("の", "ー", "ノ", "ン", "っ", "っ") or size < 2 else 1.0 if glued else 0.5
    if run.script == "hangul":
        return 1.0 if glued or _KOREAN_GRAMMAR.search(run.text) else 0.5
    return _weight_of_far(run, glued)


def _weight_in_japanese(text: str, run: Run, glued: bool) -> float:
    if run.script == "hangul":
        return 1.0 if glued or _KOREAN_GRAMMAR.search(run.text) else 0.5
    return _weight_of_far(run, glued)


def _weight_in_latin(text: str, run: Run, glued: bool) -> float:
    """Names of places, dishes and people stand in Latin prose as they are: grammar, small letters or several scripts must speak for a switch."""
    size = len(run.text)
    if is_word_of_the_sentence(text, run, glued=glued):
        return 1.0
    if glued:
        before, after = text[run.start - 1 : run.start], text[run.end : run.end + 1]
        inside = bool(_LOWER.match(before) and _LOWER.match(after))
        return 1.0 if inside or (run.script == "cyrillic" and size >= 2 and _LOWER.match(before)) else 0.5
    if (run.script == "cyrillic" and size >= 3 and run.text.islower()) or (run.script == "kana" and _JAPANESE_GRAMMAR.search(run.text)):
        return 1.0
    if run.script == "han" and ((size >= SENTENCE and len(CHINESE_GRAMMAR.findall(run.text)) >= 2) or _is_chinese_sentence(text, run)):
        return 1.0
    if run.script == "han" and size >= 2 and sum(map(len, CHINESE_GRAMMAR.findall(run.text))) * 3 >= size:
        return 1.0
    before = text[max(0, run.start - 12) : run.start]
    if run.script == "han" and not _LISTED.search(before) and simplified_count(run.text):
        return 0.5
    if _CONJUNCTION.search(before):
        return 0.25
    if run.script == "han":
        return 0.3
    if run.script == "hangul":
        return 1.0 if size >= 3 and re.search("(?:니다|하는|하고|해서|에서|으로|했다|한다|하게|하여|해요)$", run.text) else 0.25
    return 0.5 if size >= 2 and run.script != "cyrillic" else 0.25


def _weight_elsewhere(text: str, run: Run, glued: bool) -> float:
    if run.script in EAST:
        return 1.0 if len(run.text) >= 2 or glued else 0.5
    return _weight_of_far(run, glued)


def _weight_of_far(run: Run, glued: bool) -> float:
    """A word of a script that the language never mixes with; capitals may be a name."""
    size = len(run.text)
    if glued:
        return 1.0 if size >= 2 else 0.5
    return 1.0 if size >= 3 and run.text.lower() == run.text else 0.5 if size >= 2 else 0.25


def _simplified_in_japanese(text: str, content: str, user_text: str | None) -> Switch | None:
    """Characters that only simplified Chinese has, in a Japanese answer."""
    table = only_simplified()
    simplified = [character for character in text if character in table and not (user_text and character in user_text)]
    if len(simplified) < 2 or re.search("中国|中國|中文|簡体|简体|北京|上海|台湾", f"{content} {user_text or ''}") or is_about("kana", user_text):
        return None
    return Switch("language_switch", f"{len(simplified)} simplified Chinese characters in Japanese prose")

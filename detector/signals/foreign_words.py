"""Foreign words that are used in running prose, weighed by how surely they are no names, terms or mentions.

A word counts where it has grown together with the words around it, or stands between two of them without a label, a list sign or a gloss. What tells a
name from a switch differs by language: grammar in Chinese and Korean words, small letters in Cyrillic ones, characters that the language does not have.
Latin words are never foreign: every language borrows them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from detector.signals.chinese_in_japanese import chinese_in_japanese
from detector.signals.everyday_words import is_courtesy, is_everyday, is_grammar
from detector.signals.foreign_lines import foreign_lines
from detector.signals.foreign_sentences import foreign_sentences
from detector.signals.foreign_topics import is_about
from detector.signals.foreign_weights import CHINESE_GRAMMAR, EAST, KOREAN_GRAMMAR, SINGLE, is_chinese_sentence, weight
from detector.signals.latin_slots import has_object
from detector.signals.scripts import JAPANESE_KANA_SHARE, SCRIPTS, Run, letters, not_japanese

_ONLY_CHINESE = re.compile("[的了很吗呢吧们這們嗎麼您她你我把]")
_LABEL_BEFORE = re.compile(r"(?:^|[:：=→⇒|/·•—–~>#@\t-]|[,、，;；])[ \t*_]*$", re.MULTILINE)
_LIST_BEFORE = re.compile(r"(?:^|[:：=→⇒|/·•—–~>#@\t-])[ \t*_]*$", re.MULTILINE)
_LABEL_AFTER = re.compile(r"[ \t*_]*(?:[:：=→⇒|/>›»—–(（\ue002]|[,、，])")
_GLOSS = frozenset("(（\ue002")
_JOINED, _EXTENSION = frozenset("_/\\@#"), re.compile(r"\.[a-z]{2,4}\b")
_LAST_OF_LIST = frozenset("и или та і та або και ή و או ו और या และ หรือ 및 또는 and or und oder et ou y o e i dan atau và hoặc ve veya lub oraz en of".split())  # noqa: SIM905 - a list of words
_NEXT_WORD = re.compile(r"[ ]([^\W\d_A-Z]{2,})")
_KOREAN_VERB = re.compile("(?:세요|니다|하고|해서|하여)$")  # `- 클릭하세요 the button` is no entry of a word list
_CLAUSE_FOLLOWS = re.compile(r"[ ][a-z]+(?:[ ][a-z]+){4}")
_WIDE_STOPS = frozenset("，、。；")  # no Latin prose has them
_CLAUSE_BEGINS = frozenset("请請将將把可需应應若如在再先已但并並后後以")
SOUP = re.compile(r"[)}\]]{2,};?(?=\s|$)|(?:\s|^)[\[({]{2,}(?=\s)|\];(?=\s|$)|\}\]|__\(|&?nbsp;|\w\(\)\w|[;,]{2,}|\s,,")
LONGEST_HEAD = 200  # characters of a line before a word in which a label is looked for
LOCAL_LINE = 0.5  # Latin letters of a line's letters below which the line is in the other script
NO_NAME = 0.3  # weight from which a word counts as one more script: less may be a name
NEAR = 24  # characters around a word in which a text says that it speaks about it
_SPOKEN_ABOUT = re.compile(
    r"\b(?:words?|term|means?|meaning|called|phrase|characters?|letters?|symbol|written|spel(?:t|led)|pronounced|known as|palabra|mot|wort|heißt|bedeutet"
    r"|say|says|saying|greet\w*)\b|"
    r"뜻|의미|단어|글자|낱말|표기|意思|叫做|叫作|称为|写作|读作|という|意味|слово|означает",
    re.IGNORECASE,
)
# Right before a foreign word of Latin prose: it presents what is written or said, and so do other words of that script.
_PRESENTS = re.compile(
    r"(?i)\b(?:say|says|said|called|written|reads?|means|meaning|phrase|words?|term|signs?|buttons?|label|menu|tab|key|marked|named|brand|thé|té|chá|tee)"
    r"[ \"“'(:]{1,3}$"
)
_NAMING = re.compile("이?(?:라는|라고|란 |라 |라면|라 )")
_LATIN_INSIDE = re.compile("[а-яё]{2}[a-z]{2,}[а-яё]")  # a Latin stem with a Russian ending begins the word; here the Latin piece is inside
_HAN, _KANA = (re.compile(f"[{SCRIPTS[name]}]") for name in ("han", "kana"))


class Switch(NamedTuple):
    """What was found: `subtype` of the signal and a reason without content."""

    subtype: str
    reason: str


def used_words(text: str, found: list[Run], main: str, content: str, user_text: str | None, *, asked: bool = False) -> Switch | None:
    """Foreign runs that are used in the prose of the main language."""
    own = {"ko": {"hangul"}, "zh": {"han"}, "ja": {"han", "kana"}}.get(main, {main})
    kana_is_foreign = main != "zh" or not _has_japanese(content)
    glued: list[Run] = []
    between: list[Run] = []
    local = _local_lines(text, found) if main == "latin" else []
    found = _joined(text, found)
    for place, run in enumerate(found):
        if run.script in own or run.script == "latin" or (run.script == "kana" and not kana_is_foreign) or _is_identifier(text, run):
            continue
        if local and any(first <= run.start < last for first, last in local[max(0, bisect_right(local, (run.start, len(text))) - 1) :][:1]):
            continue
        before = found[place - 1] if place else None
        after = found[place + 1] if place + 1 < len(found) else None
        if _is_glued(run, before, after, own):
            if not (main == "ko" and _is_named(text, run, before)):
                glued.append(run)
        elif _is_between(text, run, before, after, own):
            between.append(run)
    chinese = chinese_in_japanese(text, content, user_text) if main == "ja" else None
    switch = Switch("language_switch", chinese) if chinese else _evidence(text, glued, between, main, content, user_text)
    if switch is None and main in ("zh", "ja", "ko", "latin"):
        lines = foreign_lines(text, main, lambda run: _is_asked(run, content, user_text) or (run.script == "kana" and not kana_is_foreign))
        if lines is not None:
            switch = Switch(
                "language_switch", f"{lines[0]} headings, labels or sentences in another language than {main}, scripts: {', '.join(sorted(lines[1]))}"
            )
    if switch is None:
        sentences = foreign_sentences(text, main, lambda run: _is_meant_sentence(run, content, user_text), content, user_text, asked=asked)
        if sentences is not None:
            switch = Switch("language_switch", f"{sentences[0]} sentences in another language than {main}, scripts: {', '.join(sorted(sentences[1]))}")
    return switch


def _is_meant_sentence(run: Run, content: str, user_text: str | None) -> bool:
    return run.script != "latin" and _is_asked(run, content, user_text)


def _local_lines(text: str, found: list[Run]) -> list[tuple[int, int]]:
    """Places of lines that are mostly in another script than Latin: sentences of the answer's language between tables and logs, no foreign words."""
    lines: list[tuple[int, int]] = []
    start = at = 0
    for line in text.split("\n"):
        end = start + len(line)
        first = at
        while at < len(found) and found[at].start < end:
            at += 1
        count = letters(found[first:at])
        count["han"] += count.pop("kana", 0)
        heaviest = max((number for script, number in count.items() if script != "latin"), default=0)  # a sentence is in one language, splices in several
        if heaviest and heaviest >= count["latin"] and count["latin"] < LOCAL_LINE * count.total() and SOUP.search(line) is None:
            lines.append((start, end))
        start = end + 1
    return lines


def _joined(text: str, found: list[Run]) -> list[Run]:
    """Words of one script with nothing but a blank between them as one run: Han, kana, Hangul and Latin words are left as they are."""
    whole: list[Run] = []
    for run in found:
        if whole and run.script == whole[-1].script and run.script not in EAST and run.script != "latin" and run.start - whole[-1].end == 1:
            last = whole[-1]
            if text[last.end] == " ":
                whole[-1] = Run(run.script, text[last.start : run.end], last.start, run.end)
                continue
        whole.append(run)
    return whole


def _is_identifier(text: str, run: Run) -> bool:
    """Part of a file name, a path, a handle or an identifier."""
    return text[run.start - 1 : run.start] in _JOINED or text[run.end : run.end + 1] in _JOINED or _EXTENSION.match(text, run.end) is not None


def _has_japanese(content: str) -> bool:
    """With its quotations the text has as many kana as Japanese has, or nothing that Japanese lacks: an address, a timetable, a list of headings."""
    kana = len(_KANA.findall(content))
    if kana > 0 and kana >= JAPANESE_KANA_SHARE * (kana + len(_HAN.findall(content))):
        return True
    return not (_ONLY_CHINESE.search(content) or any(character in not_japanese() for character in _HAN.findall(content)))


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
    sentence = _is_clause(text, run)
    goes_on = (  # a list would go on with a comma, or have begun with another foreign word
        "latin" not in own
        and before is not None
        and before.script in own
        and after is not None
        and after.script in own
        and after.text.lower() not in _LAST_OF_LIST
        and not text[run.end : after.start].strip(" ")
    )
    orders = (
        "latin" in own
        and run.script in EAST
        and ((_KOREAN_VERB.search(run.text) is not None and has_object(text, run)) or (is_grammar(run) and _CLAUSE_FOLLOWS.match(text, run.end) is not None))
    )
    if ((_LIST_BEFORE if sentence or goes_on else _LABEL_BEFORE).search(head) and not orders) or (_LABEL_AFTER.match(text, run.end) and not sentence):
        return False
    ends = " ,.!?，。！？、" if sentence else " "
    near_before = before is not None and before.script in own and text[before.end : run.start].strip(ends) == ""
    near_after = goes_on or (after is not None and after.script in own and text[run.end : after.start].strip(" ") == "")
    return near_before or near_after


def _is_clause(text: str, run: Run) -> bool:
    """Grammar or an object tells that the run is no name, so that a comma before it makes no list."""
    size = len(run.text)
    if size >= 4 and run.script in EAST and (len(CHINESE_GRAMMAR.findall(run.text)) >= 2 or KOREAN_GRAMMAR.search(run.text) is not None):
        return True
    if size >= 4 and run.script in EAST and text[run.start - 1 : run.start] in _WIDE_STOPS and is_everyday(run):
        return True
    if is_chinese_sentence(text, run) or (size >= 2 and CHINESE_GRAMMAR.fullmatch(run.text) is not None) or run.text in SINGLE or is_courtesy(run):
        return True
    if is_grammar(run) and text[run.end : run.end + 2].strip(" ")[:1] not in _GLOSS:
        return True
    if has_object(text, run) and (is_everyday(run) or run.script not in EAST):
        return True
    if run.script == "han" and size >= 4 and run.text[0] in _CLAUSE_BEGINS and is_everyday(run):
        return True
    follows = _NEXT_WORD.match(text, run.end)
    return follows is not None and follows[1] not in _LAST_OF_LIST and run.script in EAST and is_everyday(run)


def _evidence(text: str, glued: list[Run], between: list[Run], main: str, content: str, user_text: str | None) -> Switch | None:
    weighed, surest, scripts, places, first = 0.0, 0.0, set[str](), 0, ""
    if main == "cyrillic" and (mixed := _LATIN_INSIDE.findall(text)):
        weighed, places = float(len(mixed)), len(mixed)
        scripts.add("latin")
    soup = SOUP.search(text) is not None
    presented = (
        {run.script for run in between if run.script in EAST and _PRESENTS.search(text[max(0, run.start - NEAR) : run.start])} if main == "latin" else set()
    )
    last = -2  # end of the last word that may be a name
    for runs_, is_glued in ((glued, True), (between, False)):
        for run in runs_:
            if _is_asked(run, content, user_text) or _SPOKEN_ABOUT.search(text[max(0, run.start - NEAR) : run.end + NEAR]):
                continue
            if not is_glued and run.script in presented:
                continue
            this = weight(text, run, main, glued=is_glued)
            if this < NO_NAME and run.script == "hangul" and not soup:
                near, last = last, run.end
                if run.start - near == 1:  # a name of several words is one
                    continue
            if this > 0:
                weighed, places, surest = weighed + this, places + 1, max(surest, this)
                if this >= NO_NAME or soup or (main == "latin" and run.script not in EAST and run.script != "cyrillic"):
                    scripts.add("han" if run.script == "kana" else run.script)
                first = first or run.script
    if main == "latin" and surest >= 0.5 and places >= 2 and scripts == {"han"}:
        weighed = max(weighed, 0.5 * places)  # one surely Chinese word makes the others Chinese too
    if weighed and len(scripts) >= 2:
        weighed += 0.5 * (len(scripts) - 1) + (0.5 if soup else 0.0)
    if weighed < 1:
        return None
    subtype = "spliced_scripts" if len(scripts) >= 2 else "language_switch"
    return Switch(subtype, f"{places} foreign words used in {main} prose, scripts: {', '.join(sorted(scripts)) or first}")


def _is_asked(run: Run, content: str, user_text: str | None) -> bool:
    """The text or the request is about that script, or the request brought these very words."""
    if user_text is not None and run.text in user_text:
        return True
    return _about(run.script, content, user_text)


@lru_cache(maxsize=4)  # a text may hold thousands of runs of one script
def _about(script: str, content: str, user_text: str | None) -> bool:
    return is_about(script, content, user_text)

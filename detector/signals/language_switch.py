"""Words of another language in the middle of an answer, answers in another language than the question, and scrambled tokens.

All rules look at running prose (`detector.signals.prose`): what is quoted, in parentheses, in code or after a label is a mention. A foreign word counts
when it is *used*: grown together with the words around it, or standing between two of them. Latin words are never foreign: every language borrows them.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from detector.signals import prose as prose_of
from detector.signals.foreign_topics import REQUESTED, WORDS_ABOUT_WORDS, is_about
from detector.signals.scripts import SCRIPTS, Run, letters, main_language, only_simplified, runs, simplified_count

EAST = frozenset({"han", "kana", "hangul"})
FEWEST_LETTERS = 12  # weighted letters (`scripts.letters`); shorter texts have no main language
QUESTION_LETTERS = 12
LOCAL_SHARE = 0.2  # of the letters: from here on a script is the language, and Latin words in it are terms
ANSWER_LETTERS = 45  # 15 characters of an East Asian language
# Characters of grammar: with them a run of Han is a sentence or an adverb, without them it may be a name.
_CHINESE_GRAMMAR = re.compile("[的了是不在和也很就都而与及或但把被让从这那哪你我他她它们吗呢吧啊已将会可能应该需要因为所以如果虽然然后接下来非常进行通过对于]")
_KOREAN_GRAMMAR = re.compile("(?:[을를은는이가에의와과도로만]|니다|하는|하고|해서|에서|으로|입니|했다|한다|하게|하여|된|들|어요|아요|세요)$")
_LABEL_BEFORE = re.compile(r"(?:^|[:：=→⇒|/·•—–~>\t-]|[,、，;；])[ \t*_]*$", re.MULTILINE)
_LABEL_AFTER = re.compile(r"[ \t*_]*(?:[:：=→⇒|/—–(（\ue002]|[,、，])")
_CONJUNCTION = re.compile(r"\b(?:and|or|und|oder|et|ou|y|o|e|with|as|named|called|like|the|a|an|of|from|by|in|at|to|и|или)[ ,]*$", re.IGNORECASE)
_SOUP = re.compile(r"[)}\]]{2,};?(?=\s|$)|\}\]|__\(|&?nbsp;|\w\(\)\w|[;,]{2,}|\s,,")
# Single Hanja that Korean newspapers use as words: countries, parties, before, late, new, female, big …
_NEWSPAPER = frozenset("美日中北南韓英獨佛露伊印蘇前後現故新舊大小高低反親對非無有全總各每第女男與野檢警靑株先先代氏外上下內無未不再超脫準半多單複等性的化")
_HAN, _HANGUL, _KANA = (SCRIPTS[name] for name in ("han", "hangul", "kana"))
_STUTTER = re.compile(f"([{_HAN}{_HANGUL}]{{1,3}})[ ,]?\\1")
_SPACED = re.compile(f"[{_HAN}] +(?=[{_HAN}])")
STUTTER_SHARE = 0.08
SPACED_SHARE = 0.25
STUTTER_KINDS = 4
_LOWER = re.compile(r"[a-zß-öø-ÿ]")


class Switch(NamedTuple):
    """What was found: `subtype` of the signal and a reason without content."""

    subtype: str
    reason: str


def language_switch(content: str, user_text: str | None) -> Switch | None:
    """The first rule that finds a switch of language or script, or scrambled tokens, in an answer. Never raises."""
    text = prose_of.prose(content)
    found = runs(text)
    count = letters(found)
    if sum(count.values()) < FEWEST_LETTERS:
        return None
    main = main_language(count)
    if main == "latin" and (local := {name: number for name, number in count.items() if name != "latin" and number >= LOCAL_SHARE * count.total()}):
        main = main_language(Counter(local))  # a local language full of Latin names and terms
    if main is None:
        return None
    return _scrambled(text, count["han"] // 3, count["hangul"] // 3) or _used(text, found, main, content, user_text) or _other_language(text, main, user_text)


def _scrambled(text: str, han: int, hangul: int) -> Switch | None:
    """Tokens in a wrong order: characters and syllables stutter, Chinese is full of blanks."""
    total = han + hangul
    if total < 12:
        return None
    stutters = _STUTTER.findall(text)
    kinds = {stutter for stutter in stutters if stutter not in ("ㅋ", "ㅎ")}
    if len(kinds) < STUTTER_KINDS or len(stutters) < STUTTER_SHARE * total:
        return None
    spaced = len(_SPACED.findall(text))
    if (han >= hangul and spaced >= SPACED_SHARE * han) or len(stutters) >= 2 * STUTTER_SHARE * total or _SOUP.search(text):
        return Switch("scrambled_text", f"{len(stutters)} stuttering pieces in {total} characters")
    return None


def _used(text: str, found: list[Run], main: str, content: str, user_text: str | None) -> Switch | None:
    """Foreign runs that are used in the prose of the main language."""
    own = {"ko": {"hangul"}, "zh": {"han"}, "ja": {"han", "kana"}}.get(main, {main})
    glued: list[Run] = []
    between: list[Run] = []
    for place, run in enumerate(found):
        if run.script in own or run.script == "latin":
            continue
        before = found[place - 1] if place else None
        after = found[place + 1] if place + 1 < len(found) else None
        if _is_glued(run, before, after, own):
            glued.append(run)
        elif _is_between(text, run, before, after, own):
            between.append(run)
    if main == "ja":
        return _simplified_in_japanese(text, content, user_text) or _evidence(text, glued, between, main, content, user_text)
    return _evidence(text, glued, between, main, content, user_text)


def _is_glued(run: Run, before: Run | None, after: Run | None, own: set[str]) -> bool:
    """No blank between the run and a word of the main language."""
    return (before is not None and before.end == run.start and before.script in own) or (after is not None and after.start == run.end and after.script in own)


def _is_between(text: str, run: Run, before: Run | None, after: Run | None, own: set[str]) -> bool:
    """Words of the main language on one side at least, no label, list sign or gloss at either."""
    line_start = text.rfind("\n", 0, run.start) + 1
    head = text[line_start : run.start]
    if _LABEL_BEFORE.search(head) or _LABEL_AFTER.match(text, run.end):
        return False
    near_before = before is not None and before.script in own and text[before.end : run.start].strip(" ") == ""
    near_after = after is not None and after.script in own and text[run.end : after.start].strip(" ") == ""
    return near_before or near_after


def _evidence(text: str, glued: list[Run], between: list[Run], main: str, content: str, user_text: str | None) -> Switch | None:
    weigh = {"ko": _weight_in_korean, "zh": _weight_in_chinese, "ja": _weight_in_japanese, "latin": _weight_in_latin}.get(main, _weight_elsewhere)
    weight, scripts, places = 0.0, set(), 0
    for runs_, is_glued in ((glued, True), (between, False)):
        for run in runs_:
            if _is_asked(run, content, user_text):
                continue
            this = weigh(text, run, is_glued)
            if this > 0:
                weight, places = weight + this, places + 1
                scripts.add("han" if run.script == "kana" else run.script)
    if weight and len(scripts) >= 2:
        weight += 0.5 * (len(scripts) - 1) + (0.5 if _SOUP.search(text) else 0.0)
    if weight < 1:
        return None
    subtype = "spliced_scripts" if len(scripts) >= 2 else "language_switch"
    return Switch(subtype, f"{places} foreign words used in {main} prose, scripts: {', '.join(sorted(scripts))}")


def _is_asked(run: Run, content: str, user_text: str | None) -> bool:
    """The text or the request is about that script, or the request brought these very words."""
    if user_text is not None and run.text in user_text:
        return True
    return is_about(run.script, content, user_text)


def _weight_in_korean(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script == "han":
        simplified = simplified_count(run.text)
        if size == 1 and (not simplified or run.text in _NEWSPAPER):
            return 0.0
        if glued or simplified:
            return 1.0 if simplified or size >= 2 else 0.5
        return 0.5 if size >= 2 else 0.0
    if run.script == "kana":
        return 0.0 if run.text in ("の", "ー") else 1.0 if glued and size >= 2 else 0.5
    return 1.0 if glued and size >= 2 else 0.5


def _weight_in_chinese(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script == "kana":
        return 0.0 if run.text in ("の", "ー", "ノ", "ン", "っ", "っ") or size < 2 else 1.0 if glued else 0.5
    if run.script == "hangul":
        return 1.0 if glued or _KOREAN_GRAMMAR.search(run.text) else 0.5
    return 1.0 if glued and size >= 2 else 0.5


def _weight_in_japanese(text: str, run: Run, glued: bool) -> float:
    if run.script == "hangul":
        return 1.0 if glued or _KOREAN_GRAMMAR.search(run.text) else 0.5
    return 1.0 if glued and len(run.text) >= 2 else 0.5


def _weight_in_latin(text: str, run: Run, glued: bool) -> float:
    """Names of places, dishes and people stand in Latin prose as they are: grammar, small letters or several scripts must speak for a switch."""
    size = len(run.text)
    if glued:
        before, after = text[run.start - 1 : run.start], text[run.end : run.end + 1]
        inside = bool(_LOWER.match(before) and _LOWER.match(after))
        return 1.0 if inside or run.script == "cyrillic" and size >= 2 and _LOWER.match(before) else 0.5
    if _CONJUNCTION.search(text[max(0, run.start - 12) : run.start]) and not _CHINESE_GRAMMAR.search(run.text):
        return 0.25
    if run.script == "han":
        return 1.0 if size >= 2 and len(_CHINESE_GRAMMAR.findall(run.text)) * 3 >= size else 0.5 if simplified_count(run.text) else 0.25
    if run.script == "hangul":
        return 1.0 if size >= 3 and re.search("(?:니다|하는|하고|해서|에서|으로|했다|한다|하게|하여|해요)$", run.text) else 0.25
    if run.script == "cyrillic":
        return 1.0 if size >= 3 and run.text.islower() else 0.25
    return 0.5 if size >= 2 else 0.25


def _weight_elsewhere(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script in EAST:
        return 1.0 if size >= 2 or glued else 0.5
    return 1.0 if glued and size >= 2 else 0.5 if size >= 2 else 0.25


def _simplified_in_japanese(text: str, content: str, user_text: str | None) -> Switch | None:
    """Characters that only simplified Chinese has, in a Japanese answer."""
    table = only_simplified()
    simplified = [character for character in text if character in table and not (user_text and character in user_text)]
    if len(simplified) < 2 or re.search("中国|中國|中文|簡体|简体|北京|上海|台湾", f"{content} {user_text or ''}") or is_about("kana", user_text):
        return None
    return Switch("language_switch", f"{len(simplified)} simplified Chinese characters in Japanese prose")


def _other_language(text: str, main: str, user_text: str | None) -> Switch | None:
    """The answer is in another language than the question, and nobody asked for it. English is never wrong: users expect it in technical talk."""
    if user_text is None or main == "latin":
        return None
    asked = letters(runs(user_text))
    answered = letters(runs(text))
    if sum(asked.values()) < QUESTION_LETTERS or answered.total() < ANSWER_LETTERS:
        return None
    language = main_language(asked)
    if language is None or language == main or _share(answered, main) < 0.6 or _share(asked, language) < 0.6 or _share(asked, main) > 0.02:
        return None
    if {language, main} == {"zh", "ja"} and not _is_surely_chinese(user_text, text, language):
        return None
    if _script_of(language) != "han" and _share(answered, language) > 0.1:
        return None
    if (
        REQUESTED.search(user_text)
        or WORDS_ABOUT_WORDS.search(user_text)
        or is_about(_script_of(main), user_text)
        or is_about("han" if main == "ja" else _script_of(main), user_text)
    ):
        return None
    return Switch("other_language", f"the question is in {language}, the answer in {main}")


def _is_surely_chinese(question: str, answer: str, language: str) -> bool:
    """Of a question in Han characters only: Chinese grammar or simplified characters, since Japanese headings have no kana either."""
    chinese = question if language == "zh" else answer
    return simplified_count(chinese) >= 1 or len(_CHINESE_GRAMMAR.findall(chinese)) >= 2


def _script_of(language: str) -> str:
    return {"ko": "hangul", "zh": "han", "ja": "kana"}.get(language, language)


def _share(count: object, language: str) -> float:
    numbers: dict[str, int] = dict(count)  # type: ignore[call-overload]  # a Counter of letters
    total = sum(numbers.values())
    if language == "ja":
        return (numbers.get("kana", 0) + numbers.get("han", 0)) / total if numbers.get("kana") else 0.0
    return numbers.get(_script_of(language), 0) / total

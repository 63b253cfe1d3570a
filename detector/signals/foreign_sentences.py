"""Whole sentences of another language on a line of the answer's own prose, whatever the two languages are.

A model that slips into another language for a sentence does so between two sentences of one paragraph, or at the answer's end. Translations, quotations,
phrase books and bilingual notices look alike: there a colon, quotation marks or a line of their own set the sentence apart, every line has both languages,
or both have about the same length. Sources: anthropics/claude-code#50071, #82752, kirodotdev/Kiro#11396, MiniMax-AI/MiniMax-M2.7#13, zai-org/GLM-5#54,
QwenLM/Qwen#543.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache

from detector.signals.everyday_words import is_everyday
from detector.signals.foreign_topics import MANY, REQUESTED
from detector.signals.latin_languages import sentence_language
from detector.signals.scripts import Run, letters, runs

JUDGED_CHARACTERS = 1 << 14  # the time for hostile text stays bounded
NEAR = 200  # characters before a sentence that may introduce it
FOREIGN_LETTERS = 15  # weighted letters (`scripts.letters`): five East Asian characters
FOREIGN_WORDS = 3  # of a script with blanks between words
OWN_LETTERS = 12  # weighted letters of the answer's own language beside it
BALANCED = 0.8  # foreign letters per own letter: from here on a text is bilingual, unless the question shows its language
BALANCED_ASKED = 4.0
PHRASE_BOOK = 3  # lines that hold both languages …
PHRASE_BOOK_SHARE = 0.6  # … and their part of the lines
ALONE = 1  # own letters per foreign one where a foreign sentence has the first or last line for itself
FEW_PLACES = 3
LANGUAGES = 2  # other scripts in a text from which it is a list of languages
_KIND = {"kana": "han"}
_EAST = frozenset({"han", "kana", "hangul"})
_END = re.compile(r"[。！？؟।]+|(?<![.!?])[.!?]++(?=\s|$|[^\x00-\x7f\ue001-\ue003])")
_UNSPACED = frozenset({"thai", "lao", "khmer", "myanmar"})  # they end sentences with a blank
_UNSPACED_SENTENCE = re.compile(r"[^A-Za-z\n]+|[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\n]+")
_SET_APART = re.compile(r"(?:[:：=→⇒|/>~*#@•·]|\b[-–—]|[\"'“”„«»「」『』《》()（）\[\]\ue001-\ue003]|[-–—])[ \t]*$")
_LATIN_END, _MARK = re.compile(r"[.!?]\s*$"), re.compile("[\ue001-\ue003]")
# Before a sentence in another language: what is shown as it is.
_SHOWN = re.compile(
    r"(?i)messages?|errors?|subject|lyrics|slogan|title|example|prompt|quot|reads|says|문구|문장|메시지|메일|제목|표현|가사|예문|예시|슬로건|오류|에러|로그|경고|프롬프트|명령|"
    r"提示|报错|报警|消息|邮件|标题|例句|例如|口号|歌词|输出|写道|メッセージ|メール|件名|エラー|例文|例えば|表示|歌詞|出力|ошибк|сообщен|пример|надпис|mensaje|ejemplo"
)


def foreign_sentences(
    text: str, main: str, is_meant: Callable[[Run], bool], content: str, user_text: str | None, *, asked: bool
) -> tuple[int, set[str]] | None:
    """Number and scripts of foreign sentences in `text` (prose) whose own language is `main`; None where there are none.

    `is_meant` excuses a run; `asked`: the question is in the language `main`.
    """
    own = {"zh": {"han"}, "ja": {"han", "kana"}, "ko": {"hangul"}}.get(main, {main})
    text = text[:JUDGED_CHARACTERS]
    whole = letters(runs(text))
    size = sum(whole[name] for name in own)
    strange = sum(number for name, number in whole.items() if name not in own and name != "latin")
    if size < OWN_LETTERS:
        return None
    if strange > (BALANCED_ASKED if asked else BALANCED) * size:
        return _between_two(text, is_meant)
    lines = [line for line in text.split("\n") if line.strip()]
    found: list[Run] = []
    both = 0
    for place, line in enumerate(lines):
        inside = _on_line(line, main, own, content, user_text)
        if inside is None:
            continue
        sentences, has_own = inside
        both += has_own
        if not has_own:
            sentences = [one for one in sentences if one.script != "latin"]
        if has_own or (asked and place in (0, len(lines) - 1) and size >= ALONE * sum(_weight(one.script, one.text) for one in sentences)):
            found.extend(one for one in sentences if not is_meant(one))
    groups = {_KIND.get(name, name) for name in whole if name not in own and name != "latin"}
    if not found or (len(groups) >= LANGUAGES and not asked) or (both >= PHRASE_BOOK and both >= PHRASE_BOOK_SHARE * len(lines)):
        return None if found else _between_two(text, is_meant)
    return len(found), {run.script for run in found}


def _between_two(text: str, is_meant: Callable[[Run], bool]) -> tuple[int, set[str]] | None:
    """A line whose first and last sentences are in one script and those between in another: no translation has this order."""
    for line in text.split("\n"):
        blocks: list[tuple[str, str]] = []
        for start, end in _sentences(line):
            count = letters(runs(line[start:end]))
            if not count:
                continue
            script = _KIND.get(top := max(count, key=lambda name: (count[name], name)), top)
            if blocks and blocks[-1][0] == script:
                blocks[-1] = script, blocks[-1][1] + line[start:end]
            elif len(blocks) > 3:
                break
            else:
                blocks.append((script, line[start:end]))
        if len(blocks) == 3 and blocks[0][0] == blocks[2][0] and all(_weight(script, part) >= FOREIGN_LETTERS for script, part in blocks):
            name = blocks[1][0]
            latin = [part for script, part in blocks if script == "latin"]
            spoken = any(not _MARK.search(part) and sentence_language(part) is not None for part in latin)
            if (latin and not spoken and (name == "latin" or not _is_mostly_latin(text))) or MANY.search(text) or REQUESTED.search(text):
                continue
            if not is_meant(Run(name, blocks[1][1], 0, len(blocks[1][1]))):
                return 1, {name}
    return None


def _is_mostly_latin(text: str) -> bool:
    """Half of the letters are Latin, and the others stand in one or two places."""
    found = runs(text)
    count = letters(found)
    places = sum(run.script != "latin" and (place == 0 or found[place - 1].script == "latin") for place, run in enumerate(found))
    return 2 * count["latin"] >= count.total() and places < FEW_PLACES


def _sentences(line: str) -> Iterator[tuple[int, int]]:
    """Places of a line's sentences."""
    start = 0
    for match in _END.finditer(line):
        yield start, match.end()
        start = match.end()
    if start < len(line):
        yield start, len(line)


def _unspaced(line: str) -> Iterator[tuple[int, int]]:
    """Places of parts in Latin letters and in others."""
    return (match.span() for match in _UNSPACED_SENTENCE.finditer(line))


def _weight(script: str, text: str) -> int:
    return sum(character.isalpha() for character in text) * (3 if script in _EAST else 1)


def _on_line(line: str, main: str, own: set[str], content: str, user_text: str | None) -> tuple[list[Run], bool] | None:
    """Foreign sentences of a line, and whether own prose stands beside them; None for a line without foreign sentences."""
    foreign: list[Run] = []
    beside = 0
    for start, end in _unspaced(line) if main in _UNSPACED else _sentences(line):
        sentence, before = line[start:end], line[max(0, start - NEAR) : start]
        count = letters(runs(sentence))
        mine = sum(count[name] for name in own)
        if mine:
            beside += mine
            continue
        script = _foreign_script(sentence, count, main, content, user_text)
        if script is not None and not _SET_APART.search(before[-8:]) and not _SHOWN.search(before):
            foreign.append(Run(script, sentence.strip(), start, end))
    return (foreign, beside >= OWN_LETTERS) if foreign else None


def _foreign_script(sentence: str, count: Counter[str], main: str, content: str, user_text: str | None) -> str | None:
    """The script of a sentence that has no letter of the main language; None where it is none, or too short."""
    others = {name: number for name, number in count.items() if name != "latin"}
    if others:
        script = max(others, key=lambda name: (others[name], name))
        if sum(others.values()) < FOREIGN_LETTERS or (main == "latin" and count["latin"]):
            return None
        if script in _EAST:
            everyday = any(is_everyday(run) for run in runs(sentence, latin=False)) or script == "kana"
            return script if everyday else None
        return script if len(sentence.split()) >= FOREIGN_WORDS else None
    if main == "latin" or not count or not _LATIN_END.search(sentence) or _MARK.search(sentence) or sentence_language(sentence) is None:
        return None
    return None if _names_languages(content, user_text) else "latin"


@lru_cache(maxsize=4)  # a text may hold thousands of sentences
def _names_languages(content: str, user_text: str | None) -> bool:
    """The text or the request speaks of a language or of translation."""
    return any(pattern.search(part) for pattern in (REQUESTED, MANY) for part in (content, user_text or ""))

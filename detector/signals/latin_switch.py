"""A stretch of another language in prose whose language has Latin letters too: a French recipe that goes on in Spanish, an English sentence in a German letter.

Words of grammar tell: several of another language in a row, none of the text's own between them, on a line that has words of the text's own. Titles and
names have few such words, quotations are taken out before (`detector.signals.prose`). Sources: anthropics/claude-code#10418, #21446.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from detector.signals.foreign_topics import MANY, REQUESTED
from detector.signals.latin_languages import SENTENCE_LOWER, SENTENCE_WORDS, WORDS, Languages, question_language, words_of_grammar
from detector.signals.scripts import SCRIPTS

FOREIGN_ROW = 4  # words of grammar that only the other language has, in a row
OWN_WORDS = 6  # words of grammar in all of the commonest language
SECOND_WORDS = 3  # of a second language that may be the text's own …
OWN_SHARE = 0.4  # … and their part of the commonest language's, both without shared words
OWN_BESIDE = 2  # words of grammar that no other language has, on the line of the row
JUDGED_CHARACTERS = 1 << 14
ACCENTED_WORDS = 2  # of a sentence in another language
_NAMES = frozenset({"com", "os", "dos"})
_ENGLISH = frozenset({"english"})
_END = re.compile(r"[.!?]")
NEAR = 200  # characters before a stretch that may introduce it
CODE = "\ue003"
_WORD = re.compile(f"[{SCRIPTS['latin']}]+")
_LABEL = re.compile(r"[:：=→|>][^.!?]{0,200}$")
_ABOUT_TEXT = re.compile(
    r"(?i)\b(?:beispiels?|titel|zitat|meldung|fehler\w*|betreff|ejemplo|título|cita|mensaje|asunto|exemple|titre|citation|message|objet|erreur|esempio|titolo|example|title|quot\w+|lyrics|songs?"
    r"|error|subject|motto|slogan|prompt|contoh|judul|ví dụ|örnek|przykład|tytuł|voorbeeld|exemplo)\b"
)


def latin_switch(text: str, content: str, user_text: str | None) -> tuple[str, str, int] | None:
    """Own language, other language and the number of its words of grammar in a row; None where no such stretch stands in `text` (prose)."""
    text = text[:JUDGED_CHARACTERS]
    own = _own(text, question_language(user_text) if user_text is not None else None)
    if not own or any(pattern.search(part) for pattern in (REQUESTED, MANY) for part in (content, user_text or "")):
        return None
    for line in text.split("\n"):
        for part in line.split(CODE):
            if "english" in own and (words := _accented_sentence(part)):
                return "english", "another", words
            for main in own:
                found = _in_part(part, main)
                if found is not None:
                    return main, *found
    return None


def _own(text: str, asked: str | None) -> list[str]:
    """Languages that may be the text's own: the commonest, and one that has many words which that one lacks; the question's language decides."""
    table = grammar_of_two()
    found = [table[word] for word in _WORD.findall(text.lower()) if word in table]
    top = Counter(language for languages in found for language in languages).most_common(1)
    if not top or top[0][1] < (SECOND_WORDS if top[0][0] == "english" else OWN_WORDS):
        return []
    leader = top[0][0]
    beside = sum(leader not in languages for languages in found)
    own = [leader]
    if beside >= SECOND_WORDS:
        for language in WORDS:
            lacks = sum(language in languages and leader not in languages for languages in found)
            if language != leader and lacks >= max(SECOND_WORDS, OWN_SHARE * sum(leader in languages and language not in languages for languages in found)):
                own.append(language)
    return [asked] if asked in own else own if asked is None else []


@cache
def grammar_of_two() -> Languages:
    """Word -> languages that have it, for texts in two languages; words of one letter are options and symbols as often, others names of domains and systems."""
    return {word: languages for word, languages in words_of_grammar(more=True).items() if len(word) > 1 and word not in _NAMES}


def _in_part(line: str, main: str) -> tuple[str, int] | None:
    own = 0
    best: tuple[str, int] | None = None
    for language, number, start in _rows(line, main):
        if language == main:
            own += number
        elif number >= FOREIGN_ROW and not _is_introduced(line[max(0, start - NEAR) : start]):
            best = best or (language, number)
    return best if own >= OWN_BESIDE else None


def _is_introduced(before: str) -> bool:
    """A label, or a word for a text that is shown as it is, stands before the stretch."""
    return _LABEL.search(before) is not None or _ABOUT_TEXT.search(before) is not None


def _accented_sentence(line: str) -> int:
    """Accented words of a sentence without any English word, on a line with English words."""
    table = grammar_of_two()
    english = sum(table.get(word.lower()) == _ENGLISH for word in _WORD.findall(line))
    if english < OWN_BESIDE:
        return 0
    start = 0
    for match in _END.finditer(line):
        before, words, start = line[max(0, start - NEAR) : start], _WORD.findall(line, start, match.end()), match.end()
        accented = sum(not word.isascii() for word in words)
        if (
            accented >= ACCENTED_WORDS
            and len(words) >= SENTENCE_WORDS
            and sum(word[0].islower() for word in words) >= SENTENCE_LOWER
            and not any("english" in table.get(word.lower(), ()) for word in words)
            and not _is_introduced(before)
        ):
            return accented
    return 0


def _rows(line: str, main: str) -> Iterator[tuple[str, int, int]]:
    """Rows of words of grammar without one of `main` between them, and words that only `main` has: language, number of words, place of the first."""
    table = grammar_of_two()
    none: frozenset[str] = frozenset()
    alive: Counter[str] = Counter()
    start = 0
    for match in _WORD.finditer(line):
        languages = table.get(match[0].lower(), none)
        if main in languages:
            ended = Counter({language: number for language, number in alive.items() if language not in languages})  # a word of both ends no row
            yield from _longest(ended, start)
            alive -= ended
            if len(languages) == 1:
                yield main, 1, match.start()
        elif languages:
            start = start if alive else match.start()
            alive.update(languages)
    yield from _longest(alive, start)


def _longest(alive: Counter[str], start: int) -> Iterator[tuple[str, int, int]]:
    if alive:
        language, number = max(alive.items(), key=lambda item: (item[1], item[0]))
        yield language, number, start

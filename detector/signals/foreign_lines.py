"""Headings, labels, table cells and whole sentences of another East Asian language in a Chinese, Japanese or Korean answer.

Models switch between these languages at the joints of an answer: the section title is Korean, the text below Chinese. Glossaries, bilingual notices and
lists of names look alike: there most lines have the other language, or both stand side by side. Sources: anthropics/claude-code#50071, #30025, #84052.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import islice

from detector.signals.everyday_words import is_everyday
from detector.signals.scripts import SCRIPTS, Run, letters, not_japanese, runs, simplified_count

_SENTENCE = re.compile(r"[^。！？!?\n.]+[。！？!?.]*")
_KOREAN_END = re.compile(r"(?:니다|어요|아요|세요|네요|한다|했다|된다|이다|까요|지요|죠)$")
_CHINESE = re.compile("[的了是很也就都吗呢吧们這們嗎我你您他这那在不没沒会會能可请請把被让讓和]")
_KANA, _HAN = (re.compile(f"[{SCRIPTS[name]}]") for name in ("kana", "han"))
_HASHTAG, _HEADING = re.compile(r"#\w"), re.compile(r"[ \t]*#{1,6} ")
OWN_LETTERS = 16  # characters of the answer's own language; fewer show no main language
FOREIGN_SHARE = 0.4  # of the own characters at most where labels are foreign: more is a bilingual text
SENTENCES_SHARE = 0.9  # of the own characters at most where sentences are foreign that stand beside own ones
SENTENCE_LETTERS = 6
OPENING_RATIO = 3  # own characters per foreign one where a foreign sentence has the first line for itself
CHINESE_LETTERS, CHINESE_ALIENS, CHINESE_WORDS = 12, 2, 1
JUDGED_CHARACTERS, MOST_SENTENCES = 1 << 14, 8  # the time for hostile text stays bounded
LABELS = 2  # different ones; a single foreign label is a name or a term
LIST, ENTRY_WORDS, ENTRY_LETTERS = 3, 3, 4  # entries of a list, Latin words in each of the others, characters of the foreign one
ENTRY_RUNS = 40
_BULLET, _LATIN_WORD = re.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(.*)"), re.compile(r"[A-Za-z]{2,}")
GLOSSARY_SHARE = 0.6  # of the lines that hold the other language, with own words beside it: a glossary


def foreign_lines(text: str, main: str, is_meant: Callable[[Run], bool]) -> tuple[int, set[str]] | None:
    """Number and scripts of the foreign headings, labels, cells or sentences in `text` (prose); None where there are too few. `is_meant` excuses a run."""
    if main == "latin":
        entries = list(_entries(text[:JUDGED_CHARACTERS], is_meant))
        return (len(entries), {run.script for run in entries}) if entries else None
    own = {"zh": {"han"}, "ja": {"han", "kana"}, "ko": {"hangul"}}.get(main)
    if own is None:
        return None
    text = text[:JUDGED_CHARACTERS]
    found = runs(text, latin=False)
    size = sum(len(run.text) for run in found if run.script in own)
    foreign = [run for run in found if _is_foreign(run, main) and not is_meant(run)]
    strange = sum(len(run.text) for run in foreign)
    if main == "ja" and size >= OWN_LETTERS and (chinese := _chinese_among_japanese(text, is_meant)):
        return chinese, {"han"}
    if not foreign or size < OWN_LETTERS or strange > SENTENCES_SHARE * size:
        return None
    sentences = list(islice(_sentences(text, main, foreign, size), MOST_SENTENCES))
    if sentences:
        return len(sentences), {run.script for run in sentences}
    labels = list(_labels(text, foreign, own)) if strange <= FOREIGN_SHARE * size else []
    if len({run.text for run in labels}) < LABELS:
        return None
    return len(labels), {run.script for run in labels}


def _is_foreign(run: Run, main: str) -> bool:
    if main == "ko":
        return run.script == "kana" or (run.script == "han" and len(run.text) >= 2)
    return run.script == "hangul"


def _sentences(text: str, main: str, foreign: list[Run], size: int) -> Iterable[Run]:
    """First foreign run of each sentence that is wholly in the other language, beside an own sentence on its line or opening the answer."""
    starts = [run.start for run in foreign]
    first = len(text) - len(text.lstrip())
    for match in _SENTENCE.finditer(text):
        inside = foreign[bisect_left(starts, match.start()) : bisect_left(starts, match.end())]
        if not inside:
            continue
        count = letters(runs(match[0], latin=False))
        strange = sum(len(run.text) for run in inside)
        own = count["hangul"] if main == "ko" else count["han"] + count["kana"]
        if own or strange < SENTENCE_LETTERS or not _is_sentence(match[0].strip(" \t*#>-"), main):
            continue
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.end()], text[match.end() : (text.find("\n", match.end()) + len(text) + 1) % (len(text) + 1)]
        beside = letters(runs(line[0][: -len(match[0])] + line[1], latin=False))
        shared = beside["hangul"] if main == "ko" else beside["han"] + beside["kana"]
        if shared or (match.start() <= first and size >= OPENING_RATIO * strange):
            yield inside[0]


def _chinese_among_japanese(text: str, is_meant: Callable[[Run], bool]) -> int:
    """Chinese sentences on lines that hold Japanese ones too: no kana, characters that Japanese lacks, and Chinese grammar."""
    alien = not_japanese()
    number = 0
    for line in text.split("\n"):
        if not _KANA.search(line):
            continue
        for one in _SENTENCE.findall(line):
            if (
                not _KANA.search(one)
                and len(_HAN.findall(one)) >= CHINESE_LETTERS
                and sum(character in alien for character in one) >= CHINESE_ALIENS
                and len(_CHINESE.findall(one)) >= CHINESE_WORDS
                and not is_meant(Run("han", one.strip(), 0, len(one)))
            ):
                number += 1
    return number


def _is_sentence(sentence: str, main: str) -> bool:
    if main == "ko":
        return len(_KANA.findall(sentence)) >= 3 or len(_CHINESE.findall(sentence)) >= 2
    return _KOREAN_END.search(sentence.rstrip("。！？!?. ")) is not None


def _labels(text: str, foreign: list[Run], own: set[str]) -> Iterable[Run]:
    """Foreign runs that are a heading, a label before a colon, or a cell, unless such lines are the rule."""
    lines: list[tuple[str, int]] = []
    at = 0
    for line in text.split("\n"):
        lines.append((line, at))
        at += len(line) + 1
    starts = [run.start for run in foreign]
    taken: list[Run] = []
    pairs = filled = 0
    for line, start in lines:
        if not line.strip() or set(line.strip()) <= set("|-: ") or _HASHTAG.search(line):
            continue
        filled += 1
        inside = foreign[bisect_left(starts, start) : bisect_left(starts, start + len(line))]
        if not inside:
            continue
        has_own = any(run.script in own for run in runs(line, latin=False))
        pairs += has_own
        head = _HEADING.match(line) is not None or not has_own
        if head or line.lstrip().startswith("|"):
            taken.extend(inside)
        else:
            taken.extend(
                run for run in inside if re.match(r"[ *]*[:：]", text[run.end : run.end + 4]) and not line[: run.start - start].strip(" \t-*•·>0123456789.)、")
            )
    if pairs >= 3 and pairs >= GLOSSARY_SHARE * filled:
        return
    yield from (run for run in taken if run.script != "han" or simplified_count(run.text) or is_everyday(run))


def _entries(text: str, is_meant: Callable[[Run], bool]) -> Iterable[Run]:
    """Everyday words of an East Asian language that are an entry of a Latin list, or stand in a Latin column of a table."""
    lines = text.split("\n")
    bullets = [match[1] for line in lines if (match := _BULLET.match(line)) is not None]
    foreign = [run for entry in bullets if (run := _everyday_entry(entry)) is not None]
    if (
        len(foreign) == 1
        and len(bullets) >= LIST
        and all(len(_LATIN_WORD.findall(entry)) >= ENTRY_WORDS for entry in bullets if _everyday_entry(entry) is None)
    ):
        yield from (run for run in foreign if len(run.text) >= ENTRY_LETTERS and not is_meant(run))
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.lstrip().startswith("|") and not set(line) <= set("|-: ")]
    for column in zip(*rows, strict=False):
        head, body = column[0], column[1:]
        alien = [run for cell in body if (run := _everyday_entry(cell)) is not None]
        latin = sum(_LATIN_WORD.search(cell) is not None and _everyday_entry(cell) is None for cell in body)
        title = _everyday_entry(head)
        if latin and (alien or title is not None):
            yield from (run for run in (*alien, *((title,) if title is not None else ())) if not is_meant(run))


def _everyday_entry(text: str) -> Run | None:
    """A short text in one East Asian language without Latin letters, as one run, when it has an everyday word or a sentence's ending."""
    found = list(islice(runs(text), ENTRY_RUNS))
    scripts = {run.script for run in found}
    if not found or not (scripts == {"hangul"} or scripts <= {"han", "kana"}):
        return None
    if not (any(is_everyday(run) for run in found) or _KOREAN_END.search(found[-1].text) or (len(scripts) == 2 and len(found) >= 3)):
        return None
    whole = text[found[0].start : found[-1].end]
    return Run("hangul" if "hangul" in scripts else "kana" if "kana" in scripts else "han", whole, found[0].start, found[-1].end)

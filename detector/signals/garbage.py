"""Answers whose text is corrupted.

What it finds
    Replacement characters, text in a wrong encoding (mojibake), raw vocabulary entries, control characters, words of other languages spliced into
    sentences, answers in another language than the question, scrambled tokens, and documents that had to be JSON and do not parse.

Why it matters
    The server says 200 and `stop`, but the user reads nonsense. The kinds point to different parts: the detokenizer (replacement characters), the
    transport (mojibake), the key-value cache or batching (spliced pieces, scrambled tokens), the model itself (language switch), grammars (JSON).

Not flagged
    Translations, lessons, names, Hanja in parentheses, lists of several languages, English answers to questions in other languages, quoted or explained
    characters, code, formulas, hex, base64, logs, box drawing, emoji, JSON in fences where nothing was required, and documents that were cut at a token
    limit (that is `length_cutoff`).

Subtypes
    See `SIGNAL.subtypes`.

Sources
    vllm-project/vllm#8627, jundot/omlx#1649 (U+FFFD), ml-explore/mlx-examples#808 (mojibake), vllm-project/vllm#46088, #41331, LMCache/LMCache#4345 (splices,
    scrambled tokens), MiniMax-AI/MiniMax-M2#100, QwenLM/Qwen3-Coder#383, QwenLM/Qwen3.8#235 (language), kekzl/imp#1199, vllm-project/vllm#50938 (JSON).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from detector.batch import Batch
from detector.record import Record
from detector.signals import prose as prose_of
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where
from detector.signals.foreign_topics import MANY
from detector.signals.language_switch import language_switch
from detector.signals.mojibake import mojibake
from detector.signals.other_language import may_differ, may_differ_in_latin_letters
from detector.signals.raw_tokens import raw_tokens
from detector.signals.required_json import REQUIRED, endless_number, json_fault
from detector.signals.text_values import string_values
from detector.signals.token_debris import SIGN, lone_endings, stutters

_REPLACED = re.compile("\ufffd+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Control characters that no answer needs: C0 without tab, line feed, carriage return, form feed, vertical tab and escape (colours of terminals), and C1.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")
_ESCAPE = re.compile(r"\x1b(?!\[[0-9;?]*[A-Za-z]|\]|[()#])")
_EXPLAINED = re.compile(
    r"U\+FFFD|\\ufffd|replacement char|mojibake|garbled|encod|decod|charset|unicode|utf-?8|latin-?1|cp1252|windows-125\d|iso-?8859|euc-?kr|gbk|shift.?jis|"
    r"대체 문자|깨진|깨짐|깨져|인코딩|디코|문자 집합|유니코드|乱码|亂碼|编码|編碼|解码|替换字符|替換字元|字符集|文字化け|置換文字|エンコード|文字コード|"
    r"кодировк|кракозябр|символ замены|caractère de remplacement|encodage|codificaci|Ersatzzeichen|Zeichensatz|Kodierung",
    re.IGNORECASE,
)
_AROUND = frozenset("`'\"“”‘’«»「」『』()（）[]<>〈〉…")
_ALONE = re.compile(r"(?:(?<=[\s|,;/])|^)[^\x00-\x7f]{1,6}(?=[\s|,;/]|$)")  # a cell or word that is a sample and nothing else
SHORTEST_VALUE, MOST_VALUES = 10, 64  # characters of a text inside JSON, and how many are judged
Found = tuple[str, str]


def observable(record: Record) -> bool:
    """Text of the answer is there."""
    return record.content_state in ("present", "truncated") and bool(record.content)


def _observable_rows(batch: Batch) -> list[bool]:
    states, contents = batch.column("content_state"), batch.column("content")
    return [state in ("present", "truncated") and bool(content) for state, content in zip(states, contents, strict=True)]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags a corrupted text; never raises."""
    content = record.content
    if not observable(record) or content is None:
        return None
    found = _replaced(record, content) or _control(content)
    head = content[: prose_of.JUDGED_CHARACTERS]
    if found is None and SIGN.search(head):
        found = _debris(head)
    if found is None and not content.isascii():
        found = _raw_tokens(head) or _wrong_encoding(head) or _wrong_language(record, head)
    if found is None and record.response_format in REQUIRED and not content.isascii():
        found = _in_values(record, head)
    if found is None and record.response_format in REQUIRED:
        fault = json_fault(record)
        found = ("invalid_json", fault) if fault else ("endless_number", f"{len(content)} characters of digits alone") if endless_number(record) else None
    return Flag(*found) if found else None


def _replaced(record: Record, content: str) -> Found | None:
    if "\ufffd" not in content:
        surrogate = _SURROGATE.search(content)
        return None if surrogate is None else ("replacement_character", f"half a surrogate pair at character {surrogate.start()}")
    if record.user_text is not None and "\ufffd" in record.user_text:  # the question brought it
        return None
    cut = record.finish_reason == "length" or record.content_state == "truncated"  # a character of several tokens, cut in its middle
    places = [
        match for match in _REPLACED.finditer(content) if not (cut and match.end() == len(content)) and not _is_mention(content, match.start(), match.end())
    ]
    if not places or (_EXPLAINED.search(content) and _only_mentions(content)):
        return None
    return "replacement_character", f"{sum(len(match[0]) for match in places)} replacement characters in {len(content)}, the first at {places[0].start()}"


def _is_mention(content: str, start: int, end: int) -> bool:
    """Stands alone between quotation marks, brackets or backticks."""
    return content[start - 1 : start] in _AROUND and content[end : end + 1] in _AROUND and start > 0


def _only_mentions(content: str) -> bool:
    """Outside code and quotations no replacement character is left, or only such that stand alone: an explanation shows it."""
    rest = prose_of.prose(content)
    return all(
        not (rest[match.start() - 1 : match.start()].isalpha() and match.start() > 0) and not rest[match.end() : match.end() + 1].isalpha()
        for match in _REPLACED.finditer(rest)
    )


def _control(content: str) -> Found | None:
    match = _CONTROL.search(content) or _ESCAPE.search(content)
    if match is None or mojibake(content) is not None:  # C1 characters are then bytes in a wrong encoding
        return None
    return "control_characters", f"control character U+{ord(match[0]):04X} at character {match.start()} of {len(content)}"


def _raw_tokens(content: str) -> Found | None:
    if raw_tokens(content) is None:
        return None
    text = prose_of.prose(content)  # an explanation of a vocabulary shows its entries in code or quotation marks
    place = raw_tokens(text)
    return None if place is None else ("raw_tokens", f"{place[1]} tokens in the tokenizer's own alphabet from character {place[0]} of {len(text)}")


def _wrong_encoding(content: str) -> Found | None:
    if mojibake(content) is None:
        return None
    text = content
    if _EXPLAINED.search(content):  # samples in an explanation stand in code, quotation marks or parentheses, or make up a small part
        text = _ALONE.sub(" ", prose_of.prose(content))
    elif "`" in content:
        text = prose_of.without_code(content)
    place = mojibake(text)
    if place is None:
        return None
    return "mojibake", f"text in a wrong encoding from character {place[0]} of {len(text)}"


def _debris(content: str) -> Found | None:
    text = prose_of.without_code(content)  # brackets and quotation marks among debris enclose nothing
    if SIGN.search(text) is None:
        return None
    number = stutters(text, signed="nbsp;" in text) or lone_endings(text)
    return ("scrambled_text", f"{number} words that stutter or are no whole words") if number else None


def _wrong_language(record: Record, content: str) -> Found | None:
    found = language_switch(content, record.user_text, record.system_text)
    return None if found is None else (found.subtype, found.reason)


def _in_values(record: Record, content: str) -> Found | None:
    """A switch of language inside one text of a JSON document; several languages side by side are meant."""
    values = string_values(content) if content.lstrip()[:1] in ("{", "[") else None
    if values is None or MANY.search(content):
        return None
    for value in islice((value for value in values if len(value) >= SHORTEST_VALUE and not value.isascii()), MOST_VALUES):
        found = language_switch(value, record.user_text, record.system_text)
        if found is not None and found.subtype != "other_language":
            return found.subtype, f"in a text of the JSON document: {found.reason}"
    return None


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows with odd characters, with a suspicious mix of letters, in another script than their question, or with a demanded JSON document."""
    features = batch.text
    wanted = features.odd.copy()
    contents, questions = batch.column("content"), batch.column("user_text")
    rows = [row for row in (features.non_ascii & ~wanted).nonzero()[0].tolist() if contents[row]]
    if rows:
        from detector.script_kernels import LATIN, NAMES, suspicious  # numba is loaded where text beyond ASCII is met

        suspect, local = suspicious([contents[row][: prose_of.JUDGED_CHARACTERS] for row in rows])
        for row, strange, script in zip(rows, suspect.tolist(), local.tolist(), strict=True):
            if strange:
                wanted[row] = True
            elif (question := questions[row]) is not None:
                wanted[row] = may_differ_in_latin_letters(contents[row], question) if script == LATIN else may_differ(NAMES[script], question)
    if batch.knows("response_format") and not REQUIRED.isdisjoint(batch.column("response_format")):
        return [row for row, (odd, shape) in enumerate(zip(wanted.tolist(), batch.column("response_format"), strict=True)) if odd or shape in REQUIRED]
    return [int(row) for row in wanted.nonzero()[0]]


SIGNAL = Signal(
    name="garbage",
    subtypes={
        "replacement_character": "U+FFFD or half a surrogate pair in the text: bytes that were no character",
        "control_characters": "control characters in the text",
        "mojibake": "text in a wrong encoding",
        "raw_tokens": "tokens as the vocabulary writes them instead of text",
        "spliced_scripts": "pieces in several other scripts inside sentences",
        "language_switch": "words of another language inside sentences",
        "other_language": "the answer is in another language than the question",
        "scrambled_text": "tokens in disorder: stuttering characters, blanks inside words",
        "invalid_json": "JSON was required and does not parse",
        "endless_number": "JSON was required and a number without end came",
    },
    needs=("content",),
    observable=observable,
    observable_rows=_observable_rows,
    judge=judge,
    candidates=candidates,
    push_down=PushDown(candidates=((Where("content", "exists"),),)),
)

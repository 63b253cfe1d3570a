"""Reasoning markers that are plain words: harmony channels whose special tokens were stripped, a bare `thought`, Granite's prose markers."""

from __future__ import annotations

import re
from itertools import islice

from detector.record import Record
from detector.signals.marker_shapes import Hit
from detector.signals.mentions import Surroundings

MOST_HOPS = 64  # channel hops that are looked at

# gpt-oss with skip_special_tokens: "analysis" + text + "assistantfinal" + text (Augustas11/macprovider#743); hops are glued on at least one side.
_HOP = re.compile(
    r"(?<![A-Za-z_.#$@-])(?:analysis)?(?<![A-Z])assistant(?:final|analysis|commentary)(?=[^\W_]|[ \t]?to="
    r"|\s*[\[{(\"'*#`~$<-]|\n)|(?<=\S)assistant(?:final|analysis|commentary)(?=[^\s.(=,;:)\]\"'`_-]|\n|\Z)"
)
_LED_HOP = re.compile(r"(?<![A-Za-z_])assistant(?:final|analysis|commentary)|(?<=[a-z])assistant(?:final|analysis|commentary)(?![a-z])")
_LEAD = re.compile(r"\s{0,8}(analysis|commentary)(?=[A-Z\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])(\w*)(.?.?)", re.S)
_SPACED_LEAD = re.compile(r"\s{0,8}(analysis)\s{1,3}(?:The user|User (?:asks|wants|is|says|needs)|We need to|I need to|Need to|Okay,|Let me|Let's)\b")
# Gemma and Gemini: the thought channel's name and nothing that closes it (livekit/agents#6942, raullenchai/Rapid-MLX#447).
_THOUGHT = re.compile(
    r"\s{0,8}thought(?:s?(?P<line>[ \t]*\n\s*\S)|(?P<marks>\[\]|\(\)|\{\})|(?P<spaced>[ \t]+(?:The user|User (?:asks|wants|is)|We need|I need to|Okay,"
    r"|Let me|Let's|First,)\b)|(?P<glued>(?=[A-Z\"“*¡¿#]|\d[\d.,:]*[ ][a-z]{2,}[ ]|[^\x00-\x7f\s])))",
    re.S,
)
_THINKING_LIST = re.compile(
    r"[*-][ \t]+(?:\*\*)?(?:The )?(?:[Uu]ser|Goal|Constraints?|Input|Question|Task|Answer|Request|Context|Role)\b"
)  # how Gemma notes its task
_KOREAN_PARTICLE = re.compile(
    r"(?:은|는|이|가|을|를|의|와|과|도|로|에|에서|란|이란|라는|이라는|라고|이라고|만|부터|까지|처럼|보다|이며|이고|입니다|이다)(?=[\s,.?!'\"“”]|$)"
)
_JAPANESE_ON = re.compile(r"(?:は(?![いじ])|が|を|の(?!ち)|と(?![てこり])|とは|という|に(?!ゅ)|で(?!は|す|き)|も(?![ちし])|や|」)")
_CHINESE_ON = re.compile(r"(?:是(?!的)|的|在|一词|一詞|这个词|這個詞|这个单词|作为|作為|可以(?:表示|用|作|翻|指)|用作|和|与|與|表示|意为|意思|即|指)")
_NAME_GOES_ON = re.compile(r"[\w$]*(?:[({\[<_]|\.(?=\w)|\s*(?:=(?!=?\s*\))|:=|->|=>)|:\s*(?:[\d\"'{\[-]|true\b|false\b|null\b|None\b))")
_CODE_AFTER_MARKS = re.compile(
    r"\s*(?:=|;|:|\.|->|=>|is\b|returns?\b|takes\b|was\b|function\b|method\b|함수|메서드|関数|メソッド|函数|方法|는\s|은\s|を|は(?!い)|是(?!的)|的)"
)

# Granite 3.2's reasoning parser in vLLM takes exactly these sentences, "Here is" or "Here's".
_PROSE_OPEN = re.compile(r"\s{0,8}Here(?: is|'s|’s) my thought process:")
_ASKS_FOR_THINKING = re.compile(r"(?i)thought process|thinking process|thinking steps|step by step|show your (?:thinking|reasoning)|think(?:ing)? out loud")
_PROSE_CLOSE = re.compile(r"Here(?: is|'s|’s) my response:")


def channel_word(content: str, record: Record) -> tuple[str, int] | None:
    """The channel word and its place in characters, or None."""
    thought = _thought(content, record)
    if thought is not None:
        return "thought", thought
    lead = _LEAD.match(content)
    led = lead is not None and lead.group(1) == "analysis" and not _is_name(content, lead.end(1), record) and not _is_spoken_of(content[lead.end(1) :][:40])
    if "assistant" in content:
        hits = [
            Hit(match.start(), match.end(), "channel", "harmony words", match.group())
            for match in islice((_LED_HOP if led else _HOP).finditer(content), MOST_HOPS)
        ]
        around = None if led else Surroundings(content, hits)
        for index, hit in enumerate(hits):
            if around is None or not around.is_mention(index):
                return "assistantfinal" if hit.name.endswith("final") else "assistant channel word", hit.start
    spaced = _SPACED_LEAD.match(content)
    if spaced is not None:
        return "analysis", spaced.start(1)
    if (led and lead is not None and lead.group(3)[:1] in (" ", "'", "’", ",", "")) or (led and not content[lead.end(1)].isascii() if lead else False):
        return "analysis", lead.start(1) if lead else 0
    return None


def _is_name(content: str, at: int, record: Record) -> bool:
    """A word glued to `analysis` or `thought` is an identifier: it goes on like code, or comes again."""
    if _NAME_GOES_ON.match(content, at) is not None:
        return True
    word = re.match(r"\w{1,60}", content[at - 7 : at + 60].lstrip())
    name = word.group() if word else ""
    if len(name) > 60 or not name.isascii():
        return False
    again = content.find(name, at + 1, at + 4000) >= 0 and len(name) > 9
    return again or (record.user_text is not None and name in record.user_text)


def _reads_like_thinking(text: str) -> bool:
    """Sentences, and no entry of a dictionary or word list, which also begins with the word on a line of its own."""
    if _THINKING_LIST.match(text) is not None:
        return True
    return not (text[0].islower() or text[0] in "/[(*-#" or text[0].isdigit()) and re.search(r"[.!?。！？]", text) is not None


def _thought(content: str, record: Record) -> int | None:
    match = _THOUGHT.match(content)
    if match is None:
        return None
    place = len(content) - len(content.lstrip())
    if match.group("marks") is not None:
        rest = content[match.end() :]
        return place if rest.strip() and _CODE_AFTER_MARKS.match(rest) is None else None
    if match.group("line") is not None or match.group("spaced") is not None:
        return place if match.group("spaced") is not None or _reads_like_thinking(content[match.end("line") - 1 :]) else None
    rest = content[match.end() :]
    if rest[:1] in ('"', "“") and not rest[1:2].isupper():
        return None
    if _is_spoken_of(rest):
        return None
    if rest[:1].isupper() and rest[:1].isascii() and _is_name(content, match.end(), record):
        return None
    return place


def _is_spoken_of(rest: str) -> bool:
    """What follows a word says something about the word: particles and marks of Korean, Japanese and Chinese sentences."""
    return bool(_KOREAN_PARTICLE.match(rest) or _JAPANESE_ON.match(rest) or _CHINESE_ON.match(rest)) or rest[:1] in tuple("，。、：；！？）」』…—–·")


def prose_marker(content: str, record: Record) -> int | None:
    """Place of Granite's response marker after its thought-process marker at the beginning, or None."""
    opened = _PROSE_OPEN.match(content)
    if opened is None:
        return None
    if record.user_text is not None and _ASKS_FOR_THINKING.search(record.user_text) is not None:
        return None
    closed = _PROSE_CLOSE.search(content, opened.end())
    if closed is not None:
        return closed.start()
    if record.finish_reason == "length" and record.enable_thinking is True:  # cut before the response began
        return len(content)
    return None

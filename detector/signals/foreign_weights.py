"""How surely a foreign run of letters is used as a word of the sentence and names nothing: 1 is proof, half of it needs a second place."""

from __future__ import annotations

import re

from detector.signals.everyday_words import is_courtesy, is_everyday, is_grammar
from detector.signals.latin_slots import is_among_words, is_shown, is_word_of_the_sentence
from detector.signals.scripts import Run, hanja, simplified_count

EAST = frozenset({"han", "kana", "hangul"})
# Characters of grammar: with them a run of Han is a sentence or an adverb, without them it may be a name.
CHINESE_GRAMMAR = re.compile(
    "然后|但是|因此|另外|此外|由于|由於|为了|為了|例如|尽管|即使|于是|接下来|因为|因為|所以|如果|虽然|而且|或者|需要|应该|可以|我们|你们|他们|非常|进行|通过|对于|以及|已经|不是|还有|没有|沒有|什么|怎么|并且|最后|首先|不会|都是|一个|这个|这些|"
    "[的了是很也就都吗呢吧们這們嗎麼您她它你我他把被让]"
)
KOREAN_GRAMMAR = re.compile(
    "(?:[을를은는이가에의와과도로만]|니다|하는|하고|해서|에서|으로|입니|했다|한다|하게|하여|된|들|어요|아요|세요"
    "|다면|하면|려면|지만|는데|므로|니까|거나|도록|더라도|면서)$"
)
_JAPANESE_GRAMMAR = re.compile("^(?:それから|しかし|そして|または|ただし|なので|だから)$|(?:です|ます|ました|ません|ください|ので|ながら)$")
_JAPANESE_LETTERS = frozenset("をはがにでへもけれるくきしたてごおりみめせげ")  # particles and endings: several beside Chinese characters are Japanese
_CONJUNCTION = re.compile(r"\b(?:and|or|und|oder|et|ou|y|o|e|with|as|named|called|like|the|a|an|of|from|by|in|at|to|и|или)[ ,]*$", re.IGNORECASE)
_LISTED = re.compile(r"(?:\b(?:and|or|und|oder|et|ou|y|o|e|и|или)|,)[ ,]*$", re.IGNORECASE)
# Surnames and cities, which Korean texts may write in Hanja without a gloss.
_KOREAN_NAMES = re.compile(
    "[金李朴崔鄭姜趙尹張林韓吳徐申權黃安宋柳洪全高文梁孫裵白許南沈盧河郭成車朱禹具辛任羅田閔兪陳池嚴蔡元千方孔玄咸卞廉呂秋都]|北京|上海|東京|大阪|京都|香港|臺灣|台灣|서울|株式|華"
)
SINGLE = frozenset("请但而并若则就也很不的了再让把被將请還还都已")  # Chinese words of one character that are no names
_PARTICLE = re.compile("을|를|은|는|이|가|에|의|로|으로|와|과|도|에서|까지|부터|하고|하여|해서|합니다|하세요")
# Single Hanja that Korean newspapers use as words: countries, parties, before, late, new, female, big …
_NEWSPAPER = frozenset("美日中北南韓英獨佛露伊印蘇前後現故新舊反親對非無總各每第女男與野檢警靑株氏外未不再超脫半單多訪駐在")
_HAN = re.compile("[\u4e00-\u9fff]")
_AND = r"[ ](?:и|или|та|або|و|أو|และ|หรือ|और|या)[ ]"
_HAN_FOLLOWS, _HAN_BEFORE = re.compile(f"{_AND}[\u4e00-\u9fff]"), re.compile(f"[\u4e00-\u9fff]{_AND}$")
LONGEST_GLOSS = 120
GLOSSED_WORDS = 4  # before a translation that ends its line
SENTENCE = 6  # Han characters with two words of grammar among them: part of a sentence, whatever its topic
WHOLE_SENTENCE = 8
_LOWER = re.compile(r"[a-zß-öø-ÿ]")


def weight(text: str, run: Run, main: str, *, glued: bool) -> float:
    """Weight of `run` in prose whose main language is `main`; `glued`: no blank between it and a word of that language."""
    weigh = {"ko": _in_korean, "zh": _in_chinese, "ja": _in_japanese, "latin": _in_latin}.get(main, _elsewhere)
    return weigh(text, run, glued)


def is_chinese_sentence(text: str, run: Run) -> bool:
    """A long run in simplified characters that a full stop ends: no name."""
    return (
        run.script == "han"
        and len(run.text) >= WHOLE_SENTENCE
        and text[run.end : run.end + 1] in ("。", "！", "？", "，", ".", "!", "?")
        and simplified_count(run.text) >= 2
        and CHINESE_GRAMMAR.search(run.text) is not None
    )


def _in_korean(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script == "han":
        alien = any(character not in hanja() for character in run.text)
        if not alien and (size == 1 or set(run.text) <= _NEWSPAPER):
            return 0.0
        if size >= 2 and sum(map(len, CHINESE_GRAMMAR.findall(run.text))) * 3 >= 2 * size:
            return 1.0
        if alien:
            return 1.0 if size >= 2 else 0.5
        return 1.0 if glued or is_everyday(run) or not _KOREAN_NAMES.match(run.text) else 0.5
    if run.script == "kana":
        ending = _HAN.match(text[run.start - 1 : run.start]) is not None  # 開く: a verb, no name
        return 0.0 if run.text in ("の", "ー") else 1.0 if (glued and size >= 2) or is_grammar(run) or ending else 0.5
    return _of_far(run, glued)


def _in_chinese(text: str, run: Run, glued: bool) -> float:
    size = len(run.text)
    if run.script == "kana":
        if run.text in ("の", "ー", "ノ", "ン", "っ", "っ"):
            return 0.0
        return (0.4 if run.text in _JAPANESE_LETTERS and glued else 0.0) if size < 2 else 1.0 if glued else 0.5
    if run.script == "hangul":
        return 1.0 if glued or KOREAN_GRAMMAR.search(run.text) or is_everyday(run) else 0.5
    return _of_far(run, glued)


def _in_japanese(text: str, run: Run, glued: bool) -> float:
    if run.script == "hangul":
        return 1.0 if glued or KOREAN_GRAMMAR.search(run.text) or is_everyday(run) else 0.5
    return _of_far(run, glued)


def _in_latin(text: str, run: Run, glued: bool) -> float:
    """Names of places, dishes and people stand in Latin prose as they are: grammar, small letters or several scripts must speak for a switch."""
    size = len(run.text)
    if is_word_of_the_sentence(text, run, glued=glued) or (is_grammar(run) and not _is_gloss(text, run)):
        return 1.0
    if ((is_everyday(run) and not _is_gloss(text, run)) or is_courtesy(run)) and is_among_words(text, run):
        return 1.0
    if run.text in SINGLE and size == 1 and is_among_words(text, run):
        return 1.0
    if glued and run.script == "hangul" and _PARTICLE.fullmatch(run.text) and text[run.start - 1 : run.start].isascii():
        return 1.0
    if glued:
        before, after = text[run.start - 1 : run.start], text[run.end : run.end + 1]
        inside = bool(_LOWER.match(before) and _LOWER.match(after))
        return 1.0 if inside or (run.script == "cyrillic" and size >= 2 and _LOWER.match(before)) else 0.5
    if (run.script == "cyrillic" and size >= 3 and run.text.islower() and not is_shown(text, run)) or (
        run.script == "kana" and _JAPANESE_GRAMMAR.search(run.text)
    ):
        return 1.0
    if run.script == "han" and ((size >= SENTENCE and len(CHINESE_GRAMMAR.findall(run.text)) >= 2) or is_chinese_sentence(text, run)):
        return 1.0
    if run.script == "han" and size >= 2 and sum(map(len, CHINESE_GRAMMAR.findall(run.text))) * 3 >= size:
        return 1.0
    before = text[max(0, run.start - 12) : run.start]
    if run.script == "han" and not _LISTED.search(before) and simplified_count(run.text) and not is_shown(text, run):
        return 0.5
    if _CONJUNCTION.search(before):
        return 0.25
    if run.script == "han":
        return 0.3
    if run.script == "hangul":
        return 1.0 if size >= 3 and re.search("(?:니다|하는|하고|해서|에서|으로|했다|한다|하게|하여|해요)$", run.text) else 0.25
    return 0.5 if size >= 2 and run.script != "cyrillic" else 0.25


def _is_gloss(text: str, run: Run) -> bool:
    """A short line that ends in the run: a word and its translation."""
    before = text[max(0, run.start - LONGEST_GLOSS) : run.start]
    line = before[before.rfind("\n") + 1 :]
    rest = text[run.end : run.end + LONGEST_GLOSS].split("\n", 1)[0]
    return len(line) < LONGEST_GLOSS and len(line.split()) <= GLOSSED_WORDS and not rest.strip(" .,;|*_")


def _elsewhere(text: str, run: Run, glued: bool) -> float:
    if run.script in EAST:
        if run.script == "han" and not is_everyday(run) and (_HAN_FOLLOWS.match(text, run.end) or _HAN_BEFORE.search(text[max(0, run.start - 8) : run.start])):
            return 0.25  # 小米 и 华为
        return 1.0 if len(run.text) >= 2 or glued else 0.5
    return _of_far(run, glued)


def _of_far(run: Run, glued: bool) -> float:
    """A word of a script that the language never mixes with; capitals may be a name."""
    size = len(run.text)
    if is_grammar(run):
        return 1.0
    if glued:
        return 1.0 if size >= 2 else 0.5
    return 1.0 if size >= 3 and run.text.lower() == run.text else 0.5 if size >= 2 else 0.25

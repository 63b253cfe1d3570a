"""Places in sentences of Latin letters where only a word of the language itself can stand.

A dish, a town or a button keeps its own script in English prose; a verb between a modal and its object, or a noun between an article and another noun, does
not. Sources of the splices: anthropics/claude-code#66463, #82699, #68628, #94365, QwenLM/Qwen#543.
"""

from __future__ import annotations

import re

from detector.signals.latin_languages import ENGLISH
from detector.signals.scripts import Run, simplified_count

_DETERMINER = r"the|an?|this|that|these|those|my|our|your|their|its|any|some|each|every|all|no"
_VERB_NEEDED = re.compile(
    r"(?i:\b(?:will|would|can|could|should|must|may|might|cannot|not|[a-z]+n['’]t|we|they|it|you|i|he|she|let me|let us|let['’]s"
    r"|wird|werden|kann|muss|soll|nicht|peut|doit|pas|puede|debe))[ ]\Z"
)
_CLOSED = re.compile(
    rf"(?i:\b(?:{_DETERMINER}|to|which|who|and|or|but|then|also|always|never|very|more|most|only|just|so|because|der|die|das|ein|eine|le|la|les|une"
    r"|el|los|las))[ ]\Z"
)
_NAMES_OR_PLACES = re.compile(r"(?i:\b(?:of|from|by|in|at|to|with|for|near|von|aus|de|du|à|en|con|đến|ở|tại|với|của))[ ]\Z")
_DETERMINED = re.compile(rf"\A[ ](?:{_DETERMINER}|it|them|him|us)\b(?! (?:next|following|other|first|last|same|whole|day|week|year)\b)")
_LISTED = re.compile(r"(?i:\b(?:and|or|und|et|y|và)[ ]\Z)")
_LOWER = "a-zß-öø-ÿāăąćčďđēėęěğģīįıķļłńņňōőœŕřśşšţťūůűųźżžơư\u1ea0-\u1eff"
_LOWER_BEFORE, _LOWER_AFTER = re.compile(rf"(?<![^\W_])[{_LOWER}]{{2,}},?[ ]\Z"), re.compile(rf"[ ][{_LOWER}]+")
_GLUED_BEFORE, _GLUED_AFTER = re.compile(r"[a-z]{4,}\Z"), re.compile(r"\A(?: [a-z]|[.,;:]? )")
_GLUED_NEXT = re.compile(r"[a-z]{2,}")  # 配置file, 检索ed
# What is shown in its own script: dishes, works, people, places, and the labels of programs.
_SHOWN = re.compile(
    r"(?i)\b(?:dish|food|meal|eat|ate|cook|taste|flavou?r|spicy|sweet|drink|restaurant|recipe|sauce|soup|noodle|tea|brand|compan|shop|store|"
    r"station|street|road|temple|city|town|village|song|film|movie|novel|book"
    r"|author|writer|singer|artist|actor|actress|anime|manga|poem|poet|band|album|game|character|radical|button|menu|label|tab|icon|click|press|tap|select"
    r"|choose|sign|signs|signed|door|gate|exit|entrance|mark(?:s|ed)?\b|says?\b|said|shout|cries|cried|call|wrote|writes?\b|order|serve|"
    r"reads?\b|reading|printed|engraved|stamp|seal|named|called|name|title|word|greet|meaning|surname|family name)"
)
# Nouns after a name: the 京都 station, 旗袍 is a dress.
_NAMED_BY = re.compile(
    r"(?i)\A[ -]?(?:[a-z]+[ ]|(?:is|are|was|were|means)[ ].{0,20})?(?:dish|food|meal|spicy|sweet|drink|restaurant|recipe|sauce|soup|noodle|"
    r"tea|brand|compan|shop|store|station|street|road|temple"
    r"|city|town|village|song|film|movie|novel|book|anime|manga|poem|band|album|game|character|radical|button|menu|label|tab|icon|sign|door|"
    r"gate|festival|apps?\b|museum|palace|park|airport|river"
    r"|mountain|island|bridge|hotel|university|dress|means?\b|meaning)|\A[ ](?:column|field|sheet|folder|cell|row|heading)s?\b"
)
# Nouns and verbs right before a name: the variable 数据, sells ข้าวซอย.
_NAMES_NEXT = re.compile(
    r"(?i)\b(?:sell|buy|bought|try|tried|like|liked|love|loved|enjoy|watch|watched|play|visit|visited|wear|wore|bake|fry|"
    r"grill|make|made|read|want|prefer|recommend|variable|column|field|sheet|folder|directory|file|heading|section|cell|"
    r"option|string|prefix|suffix|channel)s?[ ]\Z"
)
_WINDOW = 48
_NEXT_WORDS = 24  # characters after the run: its noun, or "is a …"
_CLAUSE_END = re.compile("[.;:!?\\n]")
_AROUND = 400  # characters on each side that show the language


def is_word_of_the_sentence(text: str, run: Run, *, glued: bool) -> bool:
    """The run stands where a name, a dish or a label can't: it is used as a word of the sentence around it."""
    before, after = text[max(0, run.start - _WINDOW) : run.start], text[run.end : run.end + _WINDOW]
    if is_shown(text, run):
        return False
    size = len(run.text)
    if glued:
        return run.script == "han" and _GLUED_BEFORE.search(before) is not None and _GLUED_AFTER.match(after) is not None
    if run.script == "cyrillic" and not run.text.islower():  # a name
        return False
    if has_object(text, run) and size >= 2 and not _NAMES_OR_PLACES.search(before) and run.script not in ("han", "kana", "hangul"):
        return True
    if not _LOWER_AFTER.match(after) or size < (2 if run.script in ("han", "kana", "hangul") else 3):
        return False
    if _VERB_NEEDED.search(before) or (_CLOSED.search(before) and _DETERMINED.match(after)):
        return True
    if not _LOWER_BEFORE.search(before) or _NAMES_OR_PLACES.search(before):
        return False
    if run.script in ("han", "kana", "hangul") and _LISTED.search(before):
        return False
    if run.script in ("han", "kana", "hangul") and _is_not_english(text[max(0, run.start - _AROUND) : run.end + _AROUND]):
        return True
    if run.script == "han":
        simplified = simplified_count(run.text)
        return simplified > 0 and (_CLOSED.search(before) is not None or (simplified >= 2 and size >= 4))
    return run.script not in ("kana", "hangul") or _CLOSED.search(before) is not None


def has_object(text: str, run: Run) -> bool:
    """An article or a pronoun follows, so that the run is a verb or a conjunction."""
    return _DETERMINED.match(text[run.end : run.end + _WINDOW]) is not None


def is_among_words(text: str, run: Run) -> bool:
    """The run has a small word at one side at least, and nothing near it shows it as a label, a name or a word."""
    before, after = text[max(0, run.start - _WINDOW) : run.start], text[run.end : run.end + _WINDOW]
    near = _LOWER_BEFORE.search(before) or _LOWER_AFTER.match(after) or _GLUED_BEFORE.search(before) or _GLUED_AFTER.match(after) or _GLUED_NEXT.match(after)
    if not near:
        return False
    return not is_shown(text, run)


def is_shown(text: str, run: Run) -> bool:
    """Words around speak of what is shown in its own script: before it in the same clause, or right after it."""
    clause = _CLAUSE_END.split(text[max(0, run.start - _WINDOW) : run.start])[-1]
    if _NAMES_NEXT.search(clause) is not None and (_LOWER_AFTER.match(text, run.end) is None or not has_object(text, run)):
        return True
    return _SHOWN.search(clause) is not None or _NAMED_BY.search(_CLAUSE_END.split(text[run.end : run.end + _NEXT_WORDS])[0]) is not None


def _is_not_english(text: str) -> bool:
    """Nearly no English word of grammar: prose of other languages in Latin letters keeps foreign names in quotation marks or parentheses."""
    return len(ENGLISH.findall(text)) <= len(text.split()) // 12

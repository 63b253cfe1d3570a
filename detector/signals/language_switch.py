"""Words of another language in the middle of an answer, answers in another language than the question, and scrambled tokens.

All rules look at running prose (`detector.signals.prose`): what is quoted, in parentheses, in code or after a label is a mention.
"""

from __future__ import annotations

import re
from collections import Counter

from detector.signals import prose as prose_of
from detector.signals.foreign_topics import is_about
from detector.signals.foreign_words import SOUP, Switch, used_words
from detector.signals.latin_languages import words_of_grammar
from detector.signals.latin_switch import latin_switch
from detector.signals.other_language import QUESTION_LETTERS, may_differ_in_latin_letters, other_language, question_lacks, script_of, share
from detector.signals.scripts import SCRIPTS, STUTTER_SHARE, has_other_script, letters, local_language, main_language, runs
from detector.signals.token_debris import is_babel, lone_pieces, strewn_endings, stutters

FEWEST_LETTERS = 12  # weighted letters (`scripts.letters`); shorter texts have no main language
ONE_SCRIPT = 0.8  # of a question's letters
KOREAN_SHARE = 0.5  # Hangul per Chinese character
_SENTENCE_END = re.compile(r"[.。!?！？\n]+")
MANY_SCRIPTS, LONGEST_PHRASE, LONGEST_LIST = 3, 36, 2000  # LONGEST_PHRASE in weighted letters
_PHRASE_END = re.compile(r"[.。!?！？।؟,，、;/|\n]+")
SENTENCE_GRAMMAR, _LATIN_WORD = 5, re.compile("[a-z\u00df-\u024f]+")
ASKED_SHARE = 0.25  # of an answer's letters that make the question's language its own
_HAN, _HANGUL = SCRIPTS["han"], SCRIPTS["hangul"]
_STUTTER = re.compile(f"([{_HAN}{_HANGUL}]{{1,3}})[ ,]?\\1")
_EAST = re.compile(f"[{_HAN}{_HANGUL}]")
_SPACED = re.compile(f"[{_HAN}] +(?=[{_HAN}])")
SPACED_SHARE = 0.25
STUTTER_KINDS = 4
SOUP_KINDS, MANY_SYSTEMS = 3, 2  # pieces of soup and of Latin words, writing systems beside Latin
SOUP_PIECES, FEWER_PIECES = 4, 2  # fewer where letters of many scripts are strewn in
HANGUL_SHARE, HAN_SHARE = 0.12, 0.3
_SINGLE = re.compile("(?<=[a-z] )([\u4e00-\u9fff\uac00-\ud7a3])(?= [a-z])")
_CONNECTORS = frozenset("和与或及到至在为是从把用成的转比跟也就不")


def language_switch(content: str, user_text: str | None, system_text: str | None = None) -> Switch | None:
    """The first rule that finds a switch of language or script, or scrambled tokens, in an answer. Never raises."""
    if not has_other_script(content):
        return _latin_text(content, user_text, system_text)
    text = prose_of.prose(content)
    soup = len(SOUP.findall(content))
    if soup >= SOUP_PIECES or (soup >= FEWER_PIECES and len({run.script for run in runs(content)} - {"kana"}) > MANY_SCRIPTS):  # its brackets enclose nothing
        text = prose_of.without_code(content)
    found = runs(text)
    count = letters(found)
    if sum(count.values()) < FEWEST_LETTERS:
        return None
    main = local_language(found, count)
    asked = _asked_language(user_text) if user_text is not None else None
    if asked is not None and main is not None and asked != main and _is_switched(asked, main, count, str(user_text)):
        main = asked
    if main == "zh" and count["hangul"] >= KOREAN_SHARE * count["han"] and _ends_in_korean(text):
        main = "ko"
    if main is None or (main == "latin" and _language_of_all(content) != "latin"):  # quotations, code and prose differ: no language is foreign
        return None
    if _is_list_of_languages(text):
        return None
    if is_babel(text, found) and not any(is_about(script, content, user_text) for script in count if script != "latin"):
        return Switch("spliced_scripts", "words of three scripts in changing order")
    singles = [single for single in _SINGLE.findall(text) if single not in _CONNECTORS]
    if len(set(singles)) >= STUTTER_KINDS:
        return Switch("scrambled_text", f"{len(singles)} single characters between pieces of Latin words")
    if main in ("ko", "zh", "ja") and (strewn := strewn_endings(text, found)):
        return Switch("scrambled_text", f"{strewn} pieces of Latin words between words of {main}")
    if main in ("ko", "zh", "ja") and soup >= SOUP_KINDS and _systems(count) >= MANY_SYSTEMS and lone_pieces(found) >= SOUP_KINDS:
        return Switch("scrambled_text", f"pieces of Latin words and brackets between words of {main}")
    if main == "latin" and (twice := stutters(text)):
        return Switch("scrambled_text", f"{twice} stuttering words")
    return (
        _scrambled(text, content, count["han"] // 3, count["hangul"] // 3)
        or used_words(text, found, main, content, user_text, asked=main == asked)
        or (_latin_switch(text, content, user_text) if main == "latin" else None)
        or other_language(text, main, user_text, system_text)
    )


def _systems(count: Counter[str]) -> int:
    """How many writing systems stand beside Latin; kana and Han are one."""
    return len({"han" if script == "kana" else script for script in count} - {"latin"})


def _latin_text(content: str, user_text: str | None, system_text: str | None) -> Switch | None:
    """An answer without a letter of another script than Latin."""
    strange = user_text is not None and may_differ_in_latin_letters(content, user_text)
    text = prose_of.prose(content)
    return _latin_switch(text, content, user_text) or (other_language(text, "latin", user_text, system_text) if strange else None)


def _latin_switch(text: str, content: str, user_text: str | None) -> Switch | None:
    found = latin_switch(text, content, user_text)
    return None if found is None else Switch("language_switch", f"{found[2]} words of {found[1]} grammar in a row in {found[0]} prose")


def _is_list_of_languages(text: str) -> bool:
    """Phrases in three scripts or more, each in one script alone: a greeting in many languages. Latin sentences among them make it prose."""
    scripts: set[str] = set()
    table = words_of_grammar(more=True)
    if sum(word in table for word in _LATIN_WORD.findall(text[:LONGEST_LIST].lower())) >= SENTENCE_GRAMMAR:
        return False
    for part in _PHRASE_END.split(text[:LONGEST_LIST]):
        count = letters(runs(part))
        inside = {"han" if script == "kana" else script for script in count}
        if len(inside) > 1 or count.total() > LONGEST_PHRASE:
            return False
        scripts |= inside
    return len(scripts) >= MANY_SCRIPTS


def _ends_in_korean(text: str) -> bool:
    """At least half of the sentences end in Hangul: what they hold in Chinese characters is a name or an address."""
    ends: list[str] = [part.rstrip()[-1:] for part in _SENTENCE_END.split(text) if _EAST.search(part)]
    return 2 * len([end for end in ends if "\uac00" <= end <= "\ud7a3"]) > len(ends)


def _asked_language(question: str) -> str | None:
    """The language of a question that is nearly all in one script."""
    count = letters(runs(question))
    language = main_language(count)
    return language if language is not None and count.total() >= QUESTION_LETTERS and share(count, language) >= ONE_SCRIPT else None


def _is_switched(asked: str, main: str, count: Counter[str], question: str) -> bool:
    """The answer is partly in the question's language; its main language has no letter in the question."""
    if {asked, main} == {"zh", "ja"} or not question_lacks(main, question):
        return False
    return bool(count[script_of(asked)] >= ASKED_SHARE * count.total())


def _language_of_all(content: str) -> str | None:
    found = runs(content)
    return local_language(found, letters(found))


def _scrambled(text: str, content: str, han: int, hangul: int) -> Switch | None:
    """Tokens in a wrong order: characters and syllables stutter, Chinese is full of blanks."""
    total = han + hangul
    if total < 12:
        return None
    stutters = _STUTTER.findall(text)
    kinds = {stutter for stutter in stutters if stutter not in ("ㅋ", "ㅎ")}
    if len(kinds) < STUTTER_KINDS or len(stutters) < STUTTER_SHARE * total:
        return None
    if len(_STUTTER.findall(content)) < STUTTER_SHARE * len(_EAST.findall(content)):  # only its prose stutters: it explains something
        return None
    spaced = len(_SPACED.findall(text))
    single = [stutter for stutter in stutters if len(stutter) == 1]
    many = HANGUL_SHARE if hangul > han else HAN_SHARE  # Chinese doubles many words (慢慢), Korean no single syllable
    if (han >= hangul and spaced >= SPACED_SHARE * han) or (len(set(single)) >= STUTTER_KINDS and len(single) >= many * total) or SOUP.search(text):
        return Switch("scrambled_text", f"{len(stutters)} stuttering pieces in {total} characters")
    return None

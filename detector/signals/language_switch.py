"""Words of another language in the middle of an answer, answers in another language than the question, and scrambled tokens.

All rules look at running prose (`detector.signals.prose`): what is quoted, in parentheses, in code or after a label is a mention.
"""

from __future__ import annotations

import re

from detector.signals import prose as prose_of
from detector.signals.foreign_topics import MANY, WORDS_ABOUT_WORDS, is_about, requested
from detector.signals.foreign_words import CHINESE_GRAMMAR, SOUP, Switch, used_words
from detector.signals.latin_languages import ENGLISH, latin_language, not_english
from detector.signals.scripts import SCRIPTS, STUTTER_SHARE, letters, local_language, main_language, not_japanese, runs, simplified_count

FEWEST_LETTERS = 12  # weighted letters (`scripts.letters`); shorter texts have no main language
QUESTION_LETTERS = 12
ANSWER_LETTERS = 30  # 10 characters of an East Asian language
_HAN, _HANGUL = SCRIPTS["han"], SCRIPTS["hangul"]
_STUTTER = re.compile(f"([{_HAN}{_HANGUL}]{{1,3}})[ ,]?\\1")
_EAST = re.compile(f"[{_HAN}{_HANGUL}]")
_SPACED = re.compile(f"[{_HAN}] +(?=[{_HAN}])")
SPACED_SHARE = 0.25
STUTTER_KINDS = 4
SOUP_PIECES = 4
HANGUL_SHARE, HAN_SHARE = 0.12, 0.3
ACCENTED_LETTERS = 1  # of an answer: without one it is taken for English
LONGEST_QUESTION = 600  # characters; longer ones carry documents in languages of their own
QUESTION_WORDS = 2
_ACCENTED = re.compile("[\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_NOT_LATIN = re.compile(f"[{''.join(letters_ for name, letters_ in SCRIPTS.items() if name != 'latin')}]")
_ANY = {name: re.compile(f"[{letters_}]") for name, letters_ in SCRIPTS.items()}
_SINGLE = re.compile("(?<=[a-z] )([\u4e00-\u9fff\uac00-\ud7a3])(?= [a-z])")
_CONNECTORS = frozenset("和与或及到至在为是从把用成的转比跟也就不")


def language_switch(content: str, user_text: str | None, system_text: str | None = None) -> Switch | None:
    """The first rule that finds a switch of language or script, or scrambled tokens, in an answer. Never raises."""
    text = prose_of.prose(content)
    if len(SOUP.findall(content)) >= SOUP_PIECES:  # its brackets enclose nothing
        text = prose_of.without_code(content)
    found = runs(text)
    count = letters(found)
    if sum(count.values()) < FEWEST_LETTERS:
        return None
    main = local_language(found, count)
    if main is None or (main == "latin" and _language_of_all(content) != "latin"):  # quotations, code and prose differ: no language is foreign
        return None
    singles = [single for single in _SINGLE.findall(text) if single not in _CONNECTORS]
    if len(set(singles)) >= STUTTER_KINDS:
        return Switch("scrambled_text", f"{len(singles)} single characters between pieces of Latin words")
    return (
        _scrambled(text, content, count["han"] // 3, count["hangul"] // 3)
        or used_words(text, found, main, content, user_text)
        or _other_language(text, content, main, user_text, system_text)
    )


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


def _other_language(text: str, content: str, main: str, user_text: str | None, system_text: str | None) -> Switch | None:
    """The answer is in another language than the question, and nobody asked for it. English is never wrong: users expect it in technical talk."""
    if user_text is None:
        return None
    if main == "latin":
        return _other_latin_language(text, content, user_text, system_text)
    asked = letters(runs(user_text))
    answered = letters(runs(text))
    if sum(asked.values()) < QUESTION_LETTERS or answered.total() < ANSWER_LETTERS:
        return None
    language = main_language(asked)
    if language is None or language == main or _share(answered, main) < 0.6 or _share(asked, language) < 0.6 or not question_lacks(main, user_text):
        return None
    if {language, main} == {"zh", "ja"}:
        if not _is_surely_chinese(user_text, text, language):
            return None
    elif _share(answered, language) > 0.1:
        return None
    if (
        requested(main, user_text)
        or (system_text is not None and requested(main, system_text))
        or MANY.search(user_text)
        or WORDS_ABOUT_WORDS.search(user_text)
        or is_about(_script_of(main), user_text)
        or is_about("han" if main == "ja" else _script_of(main), user_text)
    ):
        return None
    return Switch("other_language", f"the question is in {language}, the answer in {main}")


def _other_latin_language(text: str, content: str, user_text: str, system_text: str | None) -> Switch | None:
    """A question in English or in another script, and an answer in Spanish, German or another language with accents."""
    if len(user_text) > LONGEST_QUESTION or len(_ACCENTED.findall(content)) < ACCENTED_LETTERS:
        return None
    asked = letters(runs(user_text))
    language = main_language(asked)
    if language == "latin":
        language = latin_language(user_text, fewest=QUESTION_WORDS)
        if language != "english":
            return None
    elif language is None or asked.total() < QUESTION_LETTERS or asked["latin"] > 0.2 * asked.total():
        return None
    answer = latin_language(text) or not_english(text)
    if (
        answer in (None, "english")
        or requested(str(answer), user_text)
        or (system_text is not None and requested(str(answer), system_text))
        or WORDS_ABOUT_WORDS.search(user_text)
        or MANY.search(user_text)
    ):
        return None
    return Switch("other_language", f"the question is in {language}, the answer in {answer}")


def question_lacks(language: str, question: str) -> bool:
    """The question has no letter of the answer's language: kana for Japanese; for Chinese no Han, or kana beside it."""
    if language == "zh" and _ANY["kana"].search(question):
        return True
    return _ANY[_script_of(language)].search(question) is None


def may_differ(script: str, question: str) -> bool:
    """Cheap and generous: a question without letters of the answer's script, with kana before an answer in Han characters, in English before accents."""
    if script == "latin":
        return ENGLISH.search(question) is not None or _NOT_LATIN.search(question) is not None
    return _ANY[script].search(question) is None or (script == "han" and _ANY["kana"].search(question) is not None)


def _is_surely_chinese(question: str, answer: str, language: str) -> bool:
    """Of a question in Han characters only: Chinese grammar or simplified characters, since Japanese headings have no kana either."""
    chinese = question if language == "zh" else answer
    alien = not_japanese()
    evidence = len(CHINESE_GRAMMAR.findall(chinese)) + sum(character in alien for character in chinese)
    return evidence >= 2 or simplified_count(chinese) >= 1


def _script_of(language: str) -> str:
    return {"ko": "hangul", "zh": "han", "ja": "kana"}.get(language, language)


def _share(count: object, language: str) -> float:
    numbers: dict[str, int] = dict(count)  # type: ignore[call-overload]  # a Counter of letters
    total = sum(numbers.values())
    if language == "ja":
        return (numbers.get("kana", 0) + numbers.get("han", 0)) / total if numbers.get("kana") else 0.0
    return numbers.get(_script_of(language), 0) / total

"""Answers wholly in another language than their question, when nobody asked for it.

Scripts tell most languages apart; Latin ones are told by their words of grammar (`detector.signals.latin_languages`). An answer in English is never wrong:
users of every language expect it for code, commands, names and texts to be sent. Sources: QwenLM/Qwen3.8#235, anthropics/claude-code#30025, #10418,
deepseek-ai/DeepSeek-V3#1443.
"""

from __future__ import annotations

import re

from detector.signals.foreign_topics import MANY, WORDS_ABOUT_WORDS, is_about, requested
from detector.signals.foreign_weights import CHINESE_GRAMMAR
from detector.signals.foreign_words import Switch
from detector.signals.latin_languages import latin_language, not_english, plainly, question_language, speaks_mostly
from detector.signals.scripts import SCRIPTS, has_other_script, letters, main_language, not_japanese, runs, simplified_count

QUESTION_LETTERS = 12  # weighted letters (`scripts.letters`)
ANSWER_LETTERS = 30  # 10 characters of an East Asian language
LONGEST_QUESTION = 600  # characters; longer ones carry documents in languages of their own
_ANY = {name: re.compile(f"[{letters_}]") for name, letters_ in SCRIPTS.items()}
_ACCENTED = re.compile("[\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
ENGLISH_PIECES = (" the ", " and ", " you", " of ", " to ", " for ", " we ", " it ", " our ", " that ", " with ")
_OTHER = re.compile(r"\b(?:yang|dan|untuk|dengan|tidak|der|und|nicht|los|para|por|les|pour|che|sono|het|een|voor|niet)\b")
# What asks in Chinese and in no Japanese text without kana; words of simplified characters are told anyway.
_CHINESE_QUESTION = re.compile("[几幾哪吗嗎呢怎啥咱]|多久|多少|能否|是否|可否|有没有|有沒有|能不能|可不可以|要不要|为何|為何|上班|下班|告知|帮|幫")
HEAD = 240  # characters of an answer that show its language


def other_language(text: str, main: str, user_text: str | None, system_text: str | None) -> Switch | None:
    """The answer, whose main language is `main`, is in another language than the question, and nobody asked for it."""
    if user_text is None:
        return None
    if main == "latin":
        return _other_latin_language(text, user_text, system_text)
    asked = letters(runs(user_text))
    answered = letters(runs(text))
    if sum(asked.values()) < QUESTION_LETTERS or answered.total() < ANSWER_LETTERS:
        return None
    language = main_language(asked)
    if language is None or language == main or share(answered, main) < 0.6 or share(asked, language) < 0.6 or not question_lacks(main, user_text):
        return None
    if {language, main} == {"zh", "ja"}:
        if not _is_surely_chinese(user_text, text, language):
            return None
    elif share(answered, language) > 0.1:
        return None
    if (
        requested(main, user_text)
        or (system_text is not None and requested(main, system_text))
        or MANY.search(user_text)
        or WORDS_ABOUT_WORDS.search(user_text)
        or is_about(script_of(main), user_text)
        or is_about("han" if main == "ja" else script_of(main), user_text)
    ):
        return None
    return Switch("other_language", f"the question is in {language}, the answer in {main}")


def _other_latin_language(text: str, user_text: str, system_text: str | None) -> Switch | None:
    """An answer in a language of Latin letters, and a question in another one of them or in another script."""
    if len(user_text) > LONGEST_QUESTION:
        return None
    asked = letters(runs(user_text))
    language = main_language(asked)
    if language == "latin":
        language = question_language(user_text)
    elif asked.total() < QUESTION_LETTERS or asked["latin"] > 0.2 * asked.total():
        return None
    if language is None:
        return None
    answer = latin_language(text) or not_english(text)
    if (
        answer in (None, "english", language)
        or not speaks_mostly(str(answer), language, text)
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
    return _ANY[script_of(language)].search(question) is None


def may_differ(script: str, question: str) -> bool:
    """Cheap and generous, for answers in another script than Latin: whether the question may be in another language."""
    return _ANY[script].search(question) is None or (script == "han" and _ANY["kana"].search(question) is not None)


def may_differ_in_latin_letters(content: str, question: str) -> bool:
    """Whether question and answer do not look alike at once, for answers in Latin letters."""
    if len(question) > LONGEST_QUESTION:
        return False
    if question.isascii() and any(word in question for word in ENGLISH_PIECES):
        language: str | None = "english"
    else:
        language = "other" if has_other_script(question) else question_language(question)
    if language is None:
        return False
    head = content[:HEAD]
    if language != "english":
        return language == "other" or plainly(language).search(head) is None
    if any(word in head for word in ENGLISH_PIECES):
        return False
    return _OTHER.search(head) is not None or _ACCENTED.search(content) is not None


def _is_surely_chinese(question: str, answer: str, language: str) -> bool:
    """Of a question in Han characters only: Chinese grammar or simplified characters, since Japanese headings have no kana either."""
    chinese = question if language == "zh" else answer
    if language == "zh" and _CHINESE_QUESTION.search(question):
        return True
    alien = not_japanese()
    evidence = len(CHINESE_GRAMMAR.findall(chinese)) + sum(character in alien for character in chinese)
    return evidence >= 2 or simplified_count(chinese) >= 1


def script_of(language: str) -> str:
    return {"ko": "hangul", "zh": "han", "ja": "kana"}.get(language, language)


def share(count: object, language: str) -> float:
    numbers: dict[str, int] = dict(count)  # type: ignore[call-overload]  # a Counter of letters
    total = sum(numbers.values())
    if language == "ja":
        return (numbers.get("kana", 0) + numbers.get("han", 0)) / total if numbers.get("kana") else 0.0
    return numbers.get(script_of(language), 0) / total

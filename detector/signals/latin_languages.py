"""Which of the languages in Latin letters a text is in, by its commonest words. Good enough to see that a question and an answer differ, no more."""

from __future__ import annotations

import re

# Words of grammar that no other of these languages has, or has seldom. Sources: the languages' own frequency lists; shared words were left out.
_WORDS: dict[str, str] = {
    "english": "the and is are was were of to for with this that you your what how which can should would please from have has not be it my when why",
    "spanish": "el los las una unos para con por que está son como más pero su sus del puede usted desde cuando también y qué cómo",
    "french": "le les des est une pour avec dans vous votre sur pas qui ce cette sont du aux être plus mais peut nous il et",
    "german": "der die das und ist nicht ein eine mit für auf sie den dem des werden wird auch von bei können ich zu",
    "portuguese": "o os uma para com não você seu sua mais dos das está são pelo pela até também pode ao às e",
    "italian": "il gli della delle che per con una sono non è del nel alla più questo può anche come dei lo",
    "dutch": "het een van voor met niet zijn wordt kunt ook naar bij deze uw dit maar aan kan",
    "polish": "nie jest się na do że oraz dla może przez jak można od są przed w z",
    "turkish": "ve bir için ile bu da olarak daha çok değil gibi kadar sonra olan ancak",
    "vietnamese": "và của bạn là có không được cho trong các một với để này khi sẽ đã",
}
_WORD = re.compile(r"[^\W\d_]+")
_OF: dict[str, set[str]] = {}
for _language, _words in _WORDS.items():
    for _word in _words.split():
        _OF.setdefault(_word, set()).add(_language)
ENGLISH = re.compile(rf"\b(?:{_WORDS['english'].replace(' ', '|')})\b", re.IGNORECASE)
FEWEST_WORDS = 5
LEAD = 2.0  # the language's words against those of the next one
NOT_ENGLISH_WORDS = 3
NOT_ENGLISH_SHARE = 0.12  # of all words; grammar makes a third of sound prose, the lists above hold less than half of it


def not_english(text: str) -> str | None:
    """A short text's language among the others, where not one English word of grammar stands in it. The languages between each other may be mistaken."""
    words = _WORD.findall(text.lower())
    hits = dict.fromkeys(_WORDS, 0)
    for word in words:
        for language in _OF.get(word, ()):
            hits[language] += 1
    language = max(hits, key=lambda name: hits[name])
    enough = hits[language] >= NOT_ENGLISH_WORDS and hits[language] >= NOT_ENGLISH_SHARE * len(words)
    return language if enough and hits["english"] == 0 else None


def latin_language(text: str, fewest: int = FEWEST_WORDS) -> str | None:
    """The language whose words of grammar lead clearly; None for short, mixed or other texts."""
    hits = dict.fromkeys(_WORDS, 0)
    for word in _WORD.findall(text.lower()):
        for language in _OF.get(word, ()):
            hits[language] += 1
    first, second = sorted(hits.values(), reverse=True)[:2]
    if first < fewest or first < LEAD * second:
        return None
    return max(hits, key=lambda language: hits[language])

"""Which of the languages in Latin letters a text is in, by its commonest words. Good enough to see that a question and an answer differ, no more."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

# Words of grammar. Sources: the languages' own frequency lists. A word of several of these languages stands in each, or nowhere.
WORDS: dict[str, str] = {
    "english": "the and is are was were of to for with this that you your what how which can should would please from have has not be it my when why",
    "spanish": "el los las una unos para con por que está más pero su sus del puede usted desde cuando también y qué cómo después hasta "
    "porque hay donde entonces",
    "french": "le les des est une pour avec dans vous votre sur pas qui ce cette sont du aux être plus mais peut nous il et que ou",
    "german": "der die das und ist nicht ein eine mit für auf sie den dem des werden wird auch von bei können ich zu du aber oder wenn nach "
    "sich einer einen dass durch",
    "portuguese": "o os uma para com não você seu sua mais dos das está são pelo pela até também pode ao às e que por",
    "italian": "il gli della delle che per con una sono non è del nel alla più questo può anche come dei lo e",
    "dutch": "het een van voor met niet zijn wordt kunt ook naar bij deze uw dit maar aan kan die is",
    "polish": "nie jest się na do że oraz dla może przez jak można od są przed w z",
    "turkish": "ve bir için ile bu da olarak daha çok değil gibi kadar sonra olan ancak",
    "indonesian": "yang dan untuk dengan tidak ini itu dari pada akan anda bisa dapat atau adalah saya ke sudah belum silakan kami",
    "vietnamese": "và của bạn là có không được cho trong các một với để này khi sẽ đã",
}
# Words that questions have beside these.
_ASKING: dict[str, str] = {
    "spanish": "cómo dónde cuándo cuál cuánto puedo quiero necesito tengo mi hola hay",
    "french": "comment où quand pourquoi quel quelle quels puis je mon ma mes est combien peux ai",
    "german": "wie was wo wann warum welche welcher kann mein meine meinen wer gibt es gilt muss",
    "portuguese": "como onde quando qual quanto posso eu meu minha preciso tenho quero mudar fazer obrigado",
    "italian": "come dove quando quale posso mio mia perché quanto devo",
    "dutch": "hoe wat waar wanneer waarom welke mijn ik moet",
    "polish": "jak gdzie kiedy dlaczego czy mogę mój",
    "turkish": "nasıl nerede zaman neden hangi mi mı nedir benim",
    "indonesian": "bagaimana apa kapan mana berapa apakah cara",
    "vietnamese": "làm thế nào ở đâu tôi gì sao",
}
# More of them, for places where two languages meet: words that several languages share, and shorter ones.
_MORE: dict[str, str] = {
    "english": "in on so out up if may must within by an or at as then than they we will do before after only also its their there these those into about",
    "spanish": "no son bien da al sobre lo es este esta sin ya muy luego antes cada si se le un en de todo",
    "french": "non es in un en de se si le puis avant après sans elle ils leur par ou on or très bien tout cela son sa",
    "german": "um da de als im zum zur nur noch hat haben sind war ihr ihre es dann danach bitte mehr beim vom unter an so also will wie was in",
    "italian": "di in da le su no un si se al lo nella sulla anche dopo prima poi ma",
    "portuguese": "ou da cada desde porque um so um em de se na no nas nos foi tem já depois antes sobre este esta sem do as à",
    "dutch": "of na werden al per en de op te om als dan nog wel geen hebben heeft worden in was",
    "polish": "to ma te ich i po za ten ta dla tylko być",
    "turkish": "de son si den ya en sonra önce ama her ki",
    "indonesian": "di ada juga lebih oleh karena jika agar setelah ya",
    "vietnamese": "hay con in thì nếu sau trước nhưng hoặc vào ra lên rất",
}
_WORD = re.compile(r"[^\W\d_]+")
ENGLISH = re.compile(rf"\b(?:{WORDS['english'].replace(' ', '|')})\b", re.IGNORECASE)
FEWEST_WORDS = 5
LEAD = 2.0  # the language's words against those of the next one
QUESTION_WORDS = 2
CLEARLY = 3.0
SENTENCE_WORDS, SENTENCE_LOWER, SENTENCE_HITS = 5, 4, 2
NOT_ENGLISH_WORDS = 3
NOT_ENGLISH_SHARE = 0.12  # of all words; grammar makes a third of sound prose, the lists above hold less than half of it
Languages = dict[str, frozenset[str]]


@cache
def words_of_grammar(*, asking: bool = False, more: bool = False) -> Languages:
    """Word -> languages that have it; with `asking` those of questions too, with `more` those of `_MORE`."""
    found: dict[str, set[str]] = {}
    for table in (WORDS, *((_ASKING,) if asking else ()), *((_MORE,) if more else ())):
        for language, words in table.items():
            for word in words.split():
                found.setdefault(word, set()).add(language)
    return {word: frozenset(languages) for word, languages in found.items()}


@cache
def plainly(language: str) -> re.Pattern[str]:
    """Any word of grammar that no other of the languages has."""
    words = (word for word, languages in words_of_grammar(asking=True).items() if languages == {language} and len(word) > 1)
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


def _hits(text: str, table: Languages) -> tuple[Counter[str], int]:
    """Words of grammar per language, and the number of words."""
    words = _WORD.findall(text.lower())
    return Counter(language for word in words for language in table.get(word, ())), len(words)


def _leader(hits: Counter[str], fewest: int) -> str | None:
    top = hits.most_common(2)
    if not top or top[0][1] < fewest or (len(top) > 1 and top[0][1] < LEAD * top[1][1]):
        return None
    return top[0][0]


def not_english(text: str) -> str | None:
    """A short text's language among the others, where not one English word of grammar stands in it. The languages between each other may be mistaken."""
    hits, words = _hits(text, words_of_grammar())
    if not hits or hits["english"]:
        return None
    language, number = hits.most_common(1)[0]
    return language if number >= NOT_ENGLISH_WORDS and number >= NOT_ENGLISH_SHARE * words else None


def latin_language(text: str, fewest: int = FEWEST_WORDS) -> str | None:
    """The language whose words of grammar lead clearly; None for short, mixed or other texts."""
    return _leader(_hits(text, words_of_grammar())[0], fewest)


def question_language(text: str) -> str | None:
    """Language of a question, which may be short: `QUESTION_WORDS` words of grammar, and clearly more than of any other language."""
    return _leader(_hits(text, words_of_grammar(asking=True))[0], QUESTION_WORDS) or _leader(
        _hits(text, words_of_grammar(asking=True, more=True))[0], QUESTION_WORDS
    )


def sentence_language(sentence: str) -> str | None:
    """Language of one sentence of at least `SENTENCE_WORDS` words, by words of grammar; None where too few are any language's."""
    words = _WORD.findall(sentence)
    if len(words) < SENTENCE_WORDS or sum(word.islower() for word in words) < SENTENCE_LOWER:
        return None
    hits, _ = _hits(sentence, words_of_grammar(more=True))
    return hits.most_common(1)[0][0] if hits and hits.most_common(1)[0][1] >= SENTENCE_HITS else None


def speaks_mostly(language: str, other: str, text: str) -> bool:
    """`text` has far more words of grammar of one language than of the other, so that relatives (Spanish and Portuguese) are not mistaken."""
    hits = _hits(text, words_of_grammar())[0]
    return hits[language] >= CLEARLY * hits[other]

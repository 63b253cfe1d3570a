"""Text whose bytes were read in a wrong encoding: UTF-8 shown as Latin-1, Windows-1252, Windows-1251, GBK, EUC-KR or Shift-JIS, and the reverse.

The proof is reversal: written back in the wrong encoding, the text's bytes are well-formed UTF-8 of a sensible script. Legitimate text of those encodings
hardly ever is. Where bytes were lost on the way (control characters stripped), the density of signs that no language puts inside words is taken.
"""

from __future__ import annotations

import re
from functools import cache

from detector.signals.everyday_words import is_grammar
from detector.signals.scripts import Run, common

# What Windows-1252 makes of the bytes 0x80 to 0x9F; the five holes stay C1 controls, as in the WHATWG encoding standard.
WINDOWS_1252 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ"
_TO_BYTES = str.maketrans({character: chr(0x80 + place) for place, character in enumerate(WINDOWS_1252)})
_CONTINUATION = "\x80-\xbf"
# After translation to Latin-1: sequences that are well-formed UTF-8 of two to four bytes.
_SEQUENCE = re.compile(f"[\xc2-\xdf][{_CONTINUATION}]|[\xe0-\xef][{_CONTINUATION}]{{2}}|[\xf0-\xf4][{_CONTINUATION}]{{3}}")
_LATIN_RUN = re.compile("[\x80-\xff]+")
# Closing punctuation after an accented letter also looks like a sequence (« passé…», CAFÉ», Spaß“): it proves nothing.
_CLOSING = frozenset("“”‘’…–—«»‹›·°§•™\xa0")
# … unless the letter stands alone, and not as a letter that is spoken of: 180 Â°C, 12Â\xa0kg.
_LONE_LEAD = re.compile(r"(?<![^\W\d_])[\xc2\xc3][\xb0\xa7]|(?<=[\d.,;:%)])[\xc2\xc3]\xa0|(?<![^\W\d_])[\xc2\xc3]\xa0(?=\w)")
_PROOF_LEADS = "\xc2\xc3"  # UTF-8 of U+0080 to U+00FF: Ã and Â, which no language puts before such a sign
_ROW = re.compile(
    "(?:[\xce\xcf][\x80-\xbf]){4}|(?:\xd7[\x90-\xaa]){3}|(?:[\xd8\xd9][\x80-\xbf]){3}|(?:[\xd0\xd1][\x80-\xbf]){4}"
)  # UTF-8 of Greek, Hebrew, Arabic, Cyrillic
_SIGNS = re.compile("[\x80-\xa6\xa8-\xaa\xac-\xaf\xb1-\xb6\xb8-\xba\xbc-\xbe]")
_LEADS = re.compile("[\xc2-\xd6\xd8-\xf4]")
_ACCENTED_WORD = re.compile("(?<![A-Za-z\xc0-\u024f])[\xc0-\xff]{4,}(?![A-Za-z\xc0-\u024f])")  # no language has such words
# U+FFFD and memory patterns read as GBK, byte order mark, typographic quotes, emoji: UTF-8 read as Windows-1252, Windows-1251 or GBK.
_CERTAIN = re.compile("锟斤拷|烫烫烫|屯屯屯|ï»¿|ï¿½|â€[™œ\x9d“”–—¦˜]|ðŸ|вЂ[™њќ“”\xa6]|рџ[\x98‘’“”•–™‹›¤]|馃[\u4e00-\u9fff]")
_ASIAN_RUN = re.compile(
    "[\u3041-\u30ff\u3105-\u312f\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef\ufffd\u20ac\u2116\u0391-\u03c9\ue000-\uf8ff\u2200-\u25ff\u3000-\u303f]+"
)
_ASIAN_LETTER = re.compile("[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff66-\uff9d]")
# What mojibake comes from. Two-byte letters other than Cyrillic are left out: pairs of GBK characters that are well-formed UTF-8 give such (联通).
_COMMON = re.compile("[\u0410-\u044f\u0451\u0e01-\u0e4e\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e]")
_EAST = re.compile("[\u4e00-\u9fff\uac00-\ud7a3]")
_EAST_PAIR = re.compile("[\u4e00-\u9fff\uac00-\ud7a3](?=([\u4e00-\u9fff\uac00-\ud7a3]))")
_HALFWIDTH = re.compile("[\uff66-\uff9d]")
UNCOMMON_HINT_SHARE = 0.06  # below it no reversal is tried: above the 99.9th percentile of sound text (`detector.signals.scripts.common`)
UNCOMMON_SHARE = 0.15
UNCOMMON_CHARACTERS = 6  # different ones: a rare name comes again and again
UNCOMMON_PAIRS = 2  # side by side; lists of rare characters have separators
ACCENTS = 3
HALFWIDTH_HINT = 3  # half-width katakana are what Shift-JIS makes of half the bytes
_CYRILLIC_RUN = re.compile("[\u0400-\u045f\u0490\u0491\x98\xa0-\xbf\u2013-\u203a\u20ac\u2116\u2122]{8,}")
_CYRILLIC_WORD = re.compile("[\u0400-\u0481\u048a-\u052f]+")
CAPITALS, CAPITALS_SHARE = 12, 0.8
_SIGN_INSIDE = re.compile("(?<=[A-Za-z\u00c0-\u00ff])[\u00a9\u00ae\u00b1\u00b3\u00b9\u00bc\u00be\u00bf\u00b6\u00bb](?=[a-z\u00df-\u00ff])")
_STRANGE_ACCENTS = re.compile("[a-z][\u00e6\u00ec\u00ea\u00f8\u00f5\u00e8\u00ef\u00f2\u00f9\u00b9\u00be\u00b3][a-z]|[a-z]\u00ed")
_BOX_RUN = re.compile(
    "(?<=[A-Za-z])[\u2500-\u256c][\u00a0-\u00ff\u2500-\u25a0\u2310\u0192](?![\u2500-\u256c])"
    "|(?:[\u2564\u2565\u2568][\u00a0-\u00ff\u2500-\u25a0]){3,}|(?:[\u043f\u044f][\u00a0-\u00ff\u2219-\u2265\u2320\u2321\u2500-\u25a0\u0400-\u045f]){3,}"
)
GOOD_PER_BROKEN = 1.5  # sound text reversed in a wrong encoding is nearly all broken
_SHORTEST_ASIAN = 5  # characters: ten bytes of sound text that happen to be well-formed UTF-8 of letters were not met


def mojibake(text: str) -> tuple[int, int] | None:
    """Place and length of the first stretch of mojibake, or None. Never raises."""
    if text.isascii():
        return None
    certain = _CERTAIN.search(text)
    if certain is not None:
        return certain.start(), certain.end() - certain.start()
    return _western(text) or _accents_as_eastern(text) or _eastern(text) or _cyrillic(text) or _swapped_case(text) or _boxes(text) or _central(text)


def _western(text: str) -> tuple[int, int] | None:
    """UTF-8 (or an Asian encoding, or Windows-1251) read as Latin-1 or Windows-1252."""
    raw = text.translate(_TO_BYTES)
    in_words = 0
    for match in _SEQUENCE.finditer(raw):
        sequence, after = match[0], text[match.end() : match.end() + 1]
        if not _sensible(sequence) or all(character in _CLOSING for character in text[match.start() + 1 : match.end()]):
            continue
        if len(sequence) > 2 or sequence[0] in _PROOF_LEADS:
            return match.start(), len(sequence)
        in_words += after.isalpha()
        if in_words >= 2:
            return match.start(), len(sequence)
    lone = _LONE_LEAD.search(text)
    if lone is not None:
        return lone.start(), 2
    row = _ROW.search(raw)
    if row is not None:
        return row.start(), row.end() - row.start()
    accented = list(_ACCENTED_WORD.finditer(text))
    if len(accented) >= 3:
        return accented[0].start(), len(accented[0][0])
    return _dense(raw)


def _sensible(sequence: str) -> bool:
    """The bytes decode, and not to an unused character or a script that nobody answers in."""
    try:
        character = sequence.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return False
    if len(sequence) == 2 and character >= "\u0700":
        return False
    return character.isprintable() or character in "\xa0\xad\u200b\u200d\ufeff" or "\x80" <= character <= "\x9f"


def _dense(raw: str) -> tuple[int, int] | None:
    """Stretches that are mostly signs and accented letters: what is left of mojibake when bytes got lost, and Asian encodings read as Latin-1."""
    for match in _LATIN_RUN.finditer(raw):
        stretch = match[0]
        if len(stretch) >= 6 and len(set(stretch)) >= 4 and len(_SIGNS.findall(stretch)) >= max(2, len(stretch) // 6) and len(_LEADS.findall(stretch)) >= 2:
            return match.start(), len(stretch)
    return None


def _accents_as_eastern(text: str) -> tuple[int, int] | None:
    """Accented Latin letters read as GBK, EUC-KR or Big5: a rare character inside Latin words (caf茅, r茅seau)."""
    places = list(_accents().finditer(text))
    return (places[0].start(1), 1) if len(places) >= ACCENTS else None


@cache
def _accents() -> re.Pattern[str]:
    return re.compile(f"(?<=[a-z])([{accents_in_eastern_encodings()}])(?=[a-z]|[ ,.;:!?'\\n]|$)")


@cache
def accents_in_eastern_encodings() -> str:
    """What GBK, EUC-KR and Big5 make of the UTF-8 of À to ž."""
    codes = [bytes((lead, trail)) for lead in (0xC3, 0xC4, 0xC5) for trail in range(0x80, 0xC0)]
    made = {code.decode(codec, "ignore") for code in codes for codec in ("gbk", "cp949", "big5")}
    return "".join(sorted(character for character in made if len(character) == 1 and character > "\u2fff"))


def _eastern(text: str) -> tuple[int, int] | None:
    """UTF-8 read as GBK, EUC-KR (with its extension) or Shift-JIS."""
    table = common()
    found = _EAST.findall(text)
    uncommon = [character for character in found if character not in table]
    halfwidth = len(_HALFWIDTH.findall(text))
    if len(uncommon) < UNCOMMON_HINT_SHARE * len(found) and halfwidth < HALFWIDTH_HINT:
        return None
    if len(set(uncommon)) >= UNCOMMON_CHARACTERS and len(uncommon) >= UNCOMMON_SHARE * len(found):
        pairs = [match for match in _EAST_PAIR.finditer(text) if match[0][0] not in table and match[1] not in table]
        if len(pairs) >= UNCOMMON_PAIRS:
            return pairs[0].start(), 2
    for match in _ASIAN_RUN.finditer(text):
        length = match.end() - match.start()
        if (
            length >= _SHORTEST_ASIAN
            and 2 * len(_ASIAN_LETTER.findall(match[0])) > length
            and any(_reverses(match[0], codec) for codec in ("gb18030", "cp949", "cp932"))
        ):
            return match.start(), length
    return None


def _cyrillic(text: str) -> tuple[int, int] | None:
    """UTF-8 read as Windows-1251."""
    for match in _CYRILLIC_RUN.finditer(text):
        if _reverses(match[0], "cp1251"):
            return match.start(), match.end() - match.start()
    return None


def _swapped_case(text: str) -> tuple[int, int] | None:
    """KOI8-R read as Windows-1251 or the reverse: small and capital letters change places. Read back, it has words of Russian grammar; as it stands, none."""
    words = _CYRILLIC_WORD.findall(text)
    letters = "".join(words)
    capitals = sum("\u0400" <= letter <= "\u042f" for letter in letters)
    if len(letters) < CAPITALS or capitals < CAPITALS_SHARE * len(letters) or _russian(words):
        return None
    for wrong, right in (("cp1251", "koi8-r"), ("koi8-r", "cp1251")):
        back = [word.encode(wrong, "replace").decode(right, "replace") for word in words]
        if _russian(back) and sum(word[1:] == word[1:].lower() for word in back) >= CAPITALS_SHARE * len(back):
            return text.index(words[0]), len(words[0])
    return None


def _russian(words: list[str]) -> bool:
    """A word of grammar is among them."""
    return any(is_grammar(Run("cyrillic", word, 0, len(word))) for word in words)


def _boxes(text: str) -> tuple[int, int] | None:
    """UTF-8 read as a code page of DOS: a sign of box drawing and another sign inside words."""
    for match in _BOX_RUN.finditer(text):
        for codec in ("cp437", "cp850", "cp866", "koi8-r"):
            try:
                back = match[0].encode(codec).decode("utf-8")
            except UnicodeError:
                continue
            if back.isalpha() and ord(back[0]) < 0x600:
                return match.start(), len(match[0])
    return None


def _central(text: str) -> tuple[int, int] | None:
    """Windows-1250 or Latin-2 read as Latin-1: signs inside words that are letters in the right encoding, among accented letters."""
    found = _SIGN_INSIDE.search(text)
    if found is None or len(_STRANGE_ACCENTS.findall(text)) < ACCENTS:
        return None
    for codec in ("iso8859-2", "cp1250"):
        try:
            if found[0].encode("latin-1").decode(codec).isalpha():
                return found.start(), len(found[0])
        except UnicodeError:
            continue
    return None


def _reverses(stretch: str, codec: str) -> bool:
    """Most of the stretch, written in `codec`, is well-formed UTF-8 of letters beyond Latin-1. Bytes that got lost break some."""
    back = stretch.replace("\ufffd", "?").encode(codec, "replace").decode("utf-8", "replace")
    good = len(_COMMON.findall(back))
    return good >= 4 and good >= GOOD_PER_BROKEN * back.count("\ufffd")

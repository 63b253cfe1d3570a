"""Text whose bytes were read in a wrong encoding: UTF-8 shown as Latin-1, Windows-1252, Windows-1251, GBK, EUC-KR or Shift-JIS, and the reverse.

The proof is reversal: written back in the wrong encoding, the text's bytes are well-formed UTF-8 of a sensible script. Legitimate text of those encodings
hardly ever is. Where bytes were lost on the way (control characters stripped), the density of signs that no language puts inside words is taken.
"""

from __future__ import annotations

import re
from functools import cache

from detector.signals.scripts import common

# What Windows-1252 makes of the bytes 0x80 to 0x9F; the five holes stay C1 controls, as in the WHATWG encoding standard.
WINDOWS_1252 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ"
_TO_BYTES = str.maketrans({character: chr(0x80 + place) for place, character in enumerate(WINDOWS_1252)})
_CONTINUATION = "\x80-\xbf"
# After translation to Latin-1: sequences that are well-formed UTF-8 of two to four bytes.
_SEQUENCE = re.compile(f"[\xc2-\xdf][{_CONTINUATION}]|[\xe0-\xef][{_CONTINUATION}]{{2}}|[\xf0-\xf4][{_CONTINUATION}]{{3}}")
_LATIN_RUN = re.compile("[\x80-\xff]+")
# Closing punctuation after an accented letter also looks like a sequence (« passé…», CAFÉ», Spaß“): it proves nothing.
_CLOSING = frozenset("“”‘’…–—«»‹›·°§•™\xa0")
_PROOF_LEADS = "\xc2\xc3"  # UTF-8 of U+0080 to U+00FF: Ã and Â, which no language puts before such a sign
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
GOOD_PER_BROKEN = 1.5  # sound text reversed in a wrong encoding is nearly all broken
_SHORTEST_ASIAN = 5  # characters: ten bytes of sound text that happen to be well-formed UTF-8 of letters were not met


def mojibake(text: str) -> tuple[int, int] | None:
    """Place and length of the first stretch of mojibake, or None. Never raises."""
    if text.isascii():
        return None
    certain = _CERTAIN.search(text)
    if certain is not None:
        return certain.start(), certain.end() - certain.start()
    return _western(text) or _accents_as_eastern(text) or _eastern(text) or _cyrillic(text)


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


def _reverses(stretch: str, codec: str) -> bool:
    """Most of the stretch, written in `codec`, is well-formed UTF-8 of letters beyond Latin-1. Bytes that got lost break some."""
    back = stretch.replace("\ufffd", "?").encode(codec, "replace").decode("utf-8", "replace")
    good = len(_COMMON.findall(back))
    return good >= 4 and good >= GOOD_PER_BROKEN * back.count("\ufffd")

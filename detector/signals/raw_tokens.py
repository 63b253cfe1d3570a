"""Tokens in the tokenizer's own alphabet where text should stand: a detokenizer that was left out or took the wrong vocabulary.

Byte-level vocabularies (GPT-2 and its heirs) write each byte as one printable letter: a blank as `Ġ`, a line feed as `Ċ`, other bytes as letters between
`Ā` and `Ń`. SentencePiece writes a blank as `▁`. Sources: huggingface/transformers `bytes_to_unicode`; vllm-project/vllm#5028, #16659;
b4rtaz/distributed-llama#142.
"""

from __future__ import annotations

import re

# `bytes_to_unicode`: the bytes that are no printable Latin-1 characters, in order, become U+0100 and on.
_UNPRINTABLE = [byte for byte in range(256) if not (0x21 <= byte <= 0x7E or 0xA1 <= byte <= 0xAC or 0xAE <= byte <= 0xFF)]
_TO_BYTE = str.maketrans({chr(0x100 + place): chr(byte) for place, byte in enumerate(_UNPRINTABLE)})
FIRST_BYTE_LETTER, LAST_BYTE_LETTER = 0x122, 0x143  # letters of the bytes 0x7F to 0xA0 and 0xAD, which continue a character in UTF-8
BLANKS = 2  # Maltese writes a capital Ġ or Ċ at a word's beginning, no language inside or after one
UNDERLINES = 3
_BLANK = re.compile("(?<=[^\\W\\d_ĠĊ]|[.,;:!?)\"'])[ĠĊ]+(?=[\\w(\"'ĠĊ]|\\Z)")
_UNDERLINE = re.compile(r"(?<=[^\W_]|[.,;:!?])▁(?=\w)")
_TOKEN = re.compile("<[|｜][^<>\n]{1,60}[|｜]>")  # special tokens, which may hold ▁: another signal's
_CONTINUED = "¡-¬®-¿Ģ-ł\u0143"
_CHARACTER = re.compile(f"[Â-ß][{_CONTINUED}]|[à-ï][{_CONTINUED}]{{2}}|[ð-ô][{_CONTINUED}]{{3}}")
_BYTE_LETTER = re.compile("[\u0122-\u0143]")
CHARACTERS = 2


def raw_tokens(text: str) -> tuple[int, int] | None:
    """Place of the first raw token and their number, or None. Linear; never raises."""
    if "▁" in text:
        text = _TOKEN.sub(lambda match: " " * len(match[0]), text)
    for pattern, fewest in ((_BLANK, BLANKS), (_UNDERLINE, UNDERLINES)):
        places = [match.start() for match in pattern.finditer(text)]
        if len(places) >= fewest:
            return places[0], len(places)
    places = [match.start() for match in _CHARACTER.finditer(text) if _BYTE_LETTER.search(match[0]) and _is_character(match[0])]
    return (places[0], len(places)) if len(places) >= CHARACTERS else None


def _is_character(letters: str) -> bool:
    """The bytes that the letters stand for are one printable character in UTF-8."""
    try:
        return letters.translate(_TO_BYTE).encode("latin-1").decode("utf-8").isprintable()
    except UnicodeError:
        return False

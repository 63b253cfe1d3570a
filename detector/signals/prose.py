"""The running prose of an answer: what is left when code, quotations, parentheses, links and formulas are taken out.

A foreign word in quotation marks is spoken *about*, one in the middle of a sentence is spoken *with*; signals about languages look at prose only. Every
part that is taken out leaves one mark, so that the words on both sides do not grow together and a gloss stays visible as a gloss.
"""

from __future__ import annotations

import re
from itertools import pairwise

from detector.signals.everyday_words import is_everyday
from detector.signals.scripts import runs

# Marks in place of what was taken out; private-use characters, which are taken out of the text first.
QUOTE, PARENTHESIS, CODE = "\ue001", "\ue002", "\ue003"
JUDGED_CHARACTERS = 1 << 16  # of an answer: what is wrong with its language shows in these, and the time for hostile text stays bounded
_JAPANESE = {"han", "kana"}
_MARKS = re.compile("[\ue001-\ue003]")
_FENCE = re.compile(r"(?ms)^[ \t]{0,8}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]{0,8}\1[`~]*[ \t]*$|\Z)")
_INLINE = re.compile(r"(`+)(?!`)(?:(?!\1).|\n(?!\n)){1,2000}?\1(?!`)")
_CODE = re.compile(
    r"https?://\S+|www\.\S+|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.]{1,64}"  # links and addresses
    r"|\$\$.{1,2000}?\$\$|\\\[.{1,2000}?\\\]|\\\(.{1,500}?\\\)|\$[^$\n]{1,200}\$"  # formulas
    r"|</?[A-Za-z][^<>\n]{0,300}>"  # tags
    r"|\{\{?[^{}\n]{0,200}\}\}?",  # template variables
    re.DOTALL,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,600}”|„[^“”\n]{1,600}[“”]|‘[^’\n]{1,400}’|(?<!\w)'[^'\n]{1,200}'(?!\w)|«[^»\n]{1,600}»|「[^」\n]{1,600}」|『[^』\n]{1,600}』"
    r"|《[^》\n]{1,200}》|〈[^〉\n]{1,200}〉|【[^】\n]{1,200}】|［[^］\n]{1,200}］|__[^_\n]{1,200}__|(?<![\w*])\*[^*\n]{1,100}\*(?![\w*])"
)
_PARTICLE = re.compile("(?:을|를|은|는|이|가|의|에|로|으로|와|과|도)(?![가-힣])")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_PARENTHESES = re.compile(r"\([^()\n]{1,300}\)|（[^（）\n]{1,300}）|\[[^\[\]\n]{1,300}\]|〔[^〔〕\n]{1,300}〕")


def without_code(text: str) -> str:
    """The text without fenced and inline code, links, tags and formulas."""
    text = _MARKS.sub(" ", text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub(CODE + "\n", text)
    if "`" in text:
        text = _INLINE.sub(CODE, text)
    return _CODE.sub(CODE, text)


def _emphasis(match: re.Match[str]) -> str:
    """Emphasis is a mention like a quotation, unless words of two scripts are mixed in it."""
    words = runs(match[1], latin=False)
    mixed = any(one.script != other.script and match[1][one.end : other.start] in ("", " ") for one, other in pairwise(words))
    if len(words) == 1 and words[0].script == "han" and words[0].text == match[1] and _PARTICLE.match(match.string, match.end()) and is_everyday(words[0]):
        return match[1]  # an emphasised word of a Korean sentence
    return match[1] if mixed and not {run.script for run in words} <= _JAPANESE else QUOTE


def prose(text: str) -> str:
    """The text without code, quotations and parentheses; marks stand for what was taken out."""
    text = without_code(text)
    text = _QUOTED.sub(QUOTE, text)
    if "**" in text:
        text = _BOLD.sub(_emphasis, text)
    for _ in range(2):  # parentheses inside parentheses
        text = _PARENTHESES.sub(PARENTHESIS, text)
    return text

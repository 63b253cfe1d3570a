"""Strings from logs made inert for Slack: escaped per field, so that nothing of a log mentions, links, formats or breaks a message.

Sources: https://api.slack.com/reference/surfaces/formatting#escaping (the three characters to replace, and only these). Characters that have no escape
(`*`, `_`, `~`, backtick, leading `>`) are replaced by look-alikes where mrkdwn would obey them.
"""

from __future__ import annotations

import re

from detector.render.inert import plain

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# mrkdwn has no escape for its own marks; these look the same and mean nothing to it
_MARKS = str.maketrans({"*": "∗", "~": "∼", "`": "ʼ"})
_MENTION = str.maketrans({"@": "＠", "#": "＃"})  # bare @here and #channel stay text with verbatim, but not in every client's notification
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # between letters or digits it marks nothing
_EMOJI = re.compile(r":(?=[\w+'-]{1,60}(?::|$))")  # `:name:` is drawn as a picture, and the second colon may be ours; a colon between other things stays
_DEFANG = (("http://", "http[:]//"), ("https://", "https[:]//"), ("ftp://", "ftp[:]//"), ("mailto:", "mailto[:]"), ("www.", "www[.]"))


def entities(text: str) -> str:
    """`&`, `<` and `>` as entities, in one pass. For our own text, in any field."""
    return text.translate(_ENTITIES)


def inert(text: object, limit: int = 150) -> str:
    """A string from a log for an mrkdwn or plain_text field: one line, no control or bidi characters, no marks, mentions or links. Cut before escaping."""
    shown = _EMOJI.sub("∶", _UNDERSCORE.sub("ˍ", plain(text, limit).translate(_MARKS).translate(_MENTION)))
    for live, dead in _DEFANG:
        shown = _replaced(shown, live, dead)
    if shown.lstrip().startswith(">"):
        shown = shown.replace(">", "›", 1)  # at the start of a line, even as an entity, it begins a quotation
    return entities(shown)


def code(text: object, limit: int = 150) -> str:
    """A string from a log in a code span: literal but for entities; its backticks are replaced, since one would end the span."""
    shown = plain(text, limit).replace("`", "ʼ")
    return f"`{entities(shown)}`" if shown.strip() else "`(blank)`"


def address(url: str) -> str:
    """A link target that can't break out of `<url|text>`."""
    return url.replace("&", "&amp;").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace(" ", "%20")


def _replaced(text: str, live: str, dead: str) -> str:
    """Case-insensitive replacement."""
    low, out, at = text.lower(), [], 0
    while (found := low.find(live, at)) >= 0:
        out += [text[at:found], dead]
        at = found + len(live)
    return "".join([*out, text[at:]])

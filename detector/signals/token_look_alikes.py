"""What looks like a special token and is not: strikethrough, type parameters, elements of XML documents, answer elements that prompts ask for."""

from __future__ import annotations

import re

from detector.record import Record
from detector.signals.marker_shapes import Hit, find

_ANSWER_NAMES = frozenset({"answer", "response", "final_answer"})
_NAMED_ELEMENT = re.compile(r"<(?:function|parameter)\s+name=")
_ELEMENT_ENDS = frozenset({"</function>", "</invoke>"})
_HTML = re.compile(r"</?(?:p|b|i|u|li|ul|ol|div|span|td|tr|table|a|br|em|strong|del|ins|h[1-6]|html|body|img|font|center|sup|sub)\b[^<>]{0,200}>", re.I)
_ANSWER_FAMILY = "hunyuan"  # whose own template wraps the answer (vllm-project/vllm#58127); other models write the element when a prompt asks for it
_BRACKETED = re.compile(r"\[[A-Z]{2,12}\]")
_BARE_ROLES = frozenset({"|user|", "|system|", "|assistant|", "|observation|"})
STRIKE_CHARACTERS = 300  # longest text between <s> and </s> that is taken for strikethrough
ROW_BARS = 3
WRAPPED_CHARACTERS = 30  # an answer of this length or of a sentence that stands wholly between <s> and </s> is a sequence with its BOS and EOS


def without_look_alikes(text: str, hits: list[Hit], record: Record) -> list[Hit]:
    """The hits without those that are something else than a token."""
    words = {text[hit.start : hit.end] for hit in hits}
    drop: set[int] = set()
    if "<s>" in words or "</s>" in words:
        drop |= _strikes(text, hits)
    if "</PRE>" in text or len(words & {"<PRE>", "<SUF>", "<MID>"}) == 1:
        drop |= {index for index, hit in enumerate(hits) if text[hit.start : hit.end] in ("<PRE>", "<SUF>", "<MID>")}
    if ("answer>" in text or "response>" in text) and _ANSWER_FAMILY not in (record.model or "").lower():
        drop |= _balanced_answers(text, hits)
    if "[INST]" in words and "[/INST]" not in text and any(match[0] not in words for match in _BRACKETED.finditer(text)):
        drop |= {index for index, hit in enumerate(hits) if text[hit.start : hit.end] == "[INST]"}  # an abbreviation among others
    tools = [hit for hit in hits if hit.role == "tool"]
    if tools and record.has_tools is not True and all(text[hit.start : hit.end] in _ELEMENT_ENDS for hit in tools):
        drop |= {index for index, hit in enumerate(hits) if hit.role == "tool"}
    named = {index for index, hit in enumerate(hits) if _NAMED_ELEMENT.match(text, hit.start)}
    if (
        named
        and record.has_tools is not True
        and all(index in named or text[hits[index].start : hits[index].end] in _ELEMENT_ENDS for index, hit in enumerate(hits) if hit.role == "tool")
    ):
        drop |= {index for index, hit in enumerate(hits) if hit.role == "tool"}  # an XML document with functions or parameters of its own
    for index, hit in enumerate(hits):
        literal = text[hit.start : hit.end]
        if literal in _BARE_ROLES and _is_cell(text, hit):
            drop.add(index)
        if literal in ("|user|", "|system|") and not (not text[: hit.start].strip(" ") or text[hit.start - 1] == "\n" or text[hit.end : hit.end + 1] == "\n"):
            drop.add(index)
    return [hit for index, hit in enumerate(hits) if index not in drop] if drop else hits


def _is_cell(text: str, hit: Hit) -> bool:
    """The role stands between the bars of a table's row, which has more cells than that."""
    line = text[text.rfind("\n", 0, hit.start) + 1 : (text.find("\n", hit.end) + len(text) + 1) % (len(text) + 1)].strip()
    return line.startswith("|") and line.endswith("|") and line.count("|") >= ROW_BARS


def _strikes(text: str, hits: list[Hit]) -> set[int]:
    """Hits of `<s>` and `</s>` that are HTML strikethrough or a type parameter."""
    drop: set[int] = set()
    if "</s><s>" in text:  # sequences one after the other
        return drop
    waiting: int | None = None
    for index, hit in enumerate(hits):
        literal = text[hit.start : hit.end]
        if literal == "<s>":
            if hit.start > 0 and (text[hit.start - 1].isascii() and text[hit.start - 1].isalnum()) and text[hit.end : hit.end + 1] in tuple(" (>,;&*:\n"):
                drop.add(index)  # Vec<s>
                continue
            waiting = index
        elif literal == "</s>" and waiting is not None:
            opener = hits[waiting]
            inner = text[opener.end : hit.start]
            long = len(inner) >= WRAPPED_CHARACTERS or inner.rstrip()[-1:] in tuple(".!?。！？")
            whole = long and not text[: opener.start].strip() and not text[hit.end :].strip() and _HTML.search(text) is None
            if inner.strip() and len(inner) <= STRIKE_CHARACTERS and "[INST]" not in inner and not whole:
                drop |= {waiting, index}
            waiting = None
        else:
            waiting = None
    return drop


def _balanced_answers(text: str, hits: list[Hit]) -> set[int]:
    """Answer elements in pairs, which prompts ask for; `<response>` only counts as a lone closer at the end, as ERNIE leaves it."""
    drop: set[int] = set()
    waiting: dict[str, int] = {}
    thinking = bool(find(text, "think"))
    for index, hit in enumerate(hits):
        literal = text[hit.start : hit.end]
        name = literal.strip("</>")
        if name not in _ANSWER_NAMES:
            continue
        if not literal.startswith("</"):
            waiting[name] = index
            continue
        opener = waiting.pop(name, None)
        if opener is not None and not (thinking and name == "answer"):
            drop |= {opener, index}
        elif opener is None and name != "answer" and text[hit.end :].strip():
            drop.add(index)
    drop |= {index for name, index in waiting.items() if name != "answer"}
    return drop

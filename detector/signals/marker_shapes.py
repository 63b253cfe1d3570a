"""Finding markers in a text: patterns for the literals of `detector.signals.markers` and their variants (case, white space, prefixes, halves, unknown members).

Every pattern begins with a literal or a small set of characters and holds bounded repeats only, so that a search is linear and quick.
"""

# ruff: noqa: E501 - tables of patterns, one alternative of a kind a line

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from detector.signals.markers import MARKERS, Kind, Marker, Role


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern for a group of literals. `gates`: one of these stands in every match (lower case for think shapes), so a text without them needs no search."""

    name: str
    kind: Kind
    role: Role
    gates: tuple[str, ...]
    pattern: re.Pattern[str]


# Names that engines and models give the reasoning element. `_MODEL` are prefixes met or likely before it (NousResearch/hermes-agent#75094).
_NAME = r"(?:think(?:ing)?(?:_\w{1,48}|\d{1,2})?|thoughts?(?:_process)?|reasoning(?:_content)?|reflection|scratch_?pad|(?:inner|internal)_?monologue|cot(?:_budget_reflect)?|思考(?:过程|過程)?|생각|추론)"
_MODEL = r"(?:qwen|deepseek|minimax|glm|kimi|gemma|gpt|llama|mistral|nemotron|hunyuan|ernie|granite|exaone|seed|longcat|phi|grok|claude|ant|mimo|step|ling)"
_PREFIX = rf"(?:[A-Za-z][\w.:-]{{0,30}}[_:.\d-]|{_MODEL})"
_ROLES = r"(?:im_start|im_end|im_sep|endoftext|eot_id|eom_id|assistant|user|system|observation|start_header_id|end_header_id|begin_of_text|end_of_text)"
_PIECES = _ROLES[:-1] + "|channel|message|constrain)"
_NAME_GATES = ("think", "thought", "reasoning", "reflection", "scratch", "monologue", "cot", "思考", "생각", "추론")
_TOOL = r"(?:tool_calls?|tool_response|tool_results?|tool_use|tool_call_name|function_calls?|functioncall|TOOLCALL|arg_key|arg_value|execute_tool)"

SHAPES: tuple[Shape, ...] = (
    Shape("tag", "think", "open", _NAME_GATES, re.compile(rf"[<＜]\s{{0,2}}(?P<slash>/?)\s{{0,2}}(?i:{_PREFIX}?{_NAME})\s{{0,2}}(?:(?<![A-Z])/)?[>＞]|<(?:think(?:ing)?|thoughts?|reasoning)(?:\s[a-z-]{{1,16}}=[\"'][^\"'<>\n]{{0,40}}[\"']){{1,3}}>")),
    Shape("half tag", "think", "half", ("</think",), re.compile(r"</(?i:think(?:ing)?)(?=\s|$)")),
    Shape("half tag", "think", "half", ("<think",), re.compile(r"<(?i:think(?:ing)?)(?=[ \t]{0,8}(?:\n|$))")),
    Shape("half tag", "think", "half", ("/think",), re.compile(r"/(?<![\w</\\|:\[◁＜~*-]/)(?<![\s./]\./)(?<!^\./)(?i:think(?:ing)?)>")),
    Shape("half tag", "think", "half", ("<thi", "</thi"), re.compile(r"</?thi(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?\Z")),
    Shape("half tag", "think", "half", ("nk>", "thinking>"), re.compile(r"\A\s{0,8}(?:/?[Tt]hink(?:ing)?|/?(?:h?i)?nk)>")),
    Shape("half tag", "think", "half", ("think]",), re.compile(r"\A\s{0,8}/?THINK\]")),
    Shape("pipe tag", "think", "open", ("<|", "<｜", "</|"), re.compile(r"</?[|｜](?P<slash>/?)(?i:(?=[\w▁]{0,24}(?:think|thought|reasoning))[\w▁]{3,40})[|｜]>")),
    Shape("inner", "think", "open", ("<|inner_",), re.compile(r"<\|inner_(?:prefix|(?P<slash>suffix))\|>")),
    Shape("bracket tag", "think", "open", ("think]", "thinking]", "reasoning]"), re.compile(r"\[(?P<slash>/?)THINK\]|\[/(?:THINKING|REASONING|think|Think|thinking)\]")),
    Shape("triangle tag", "think", "open", ("◁",), re.compile(r"◁\s?(?P<slash>/?)\s?(?i:think(?:ing)?)\s?▷?")),
    Shape("half triangle tag", "think", "half", ("think▷",), re.compile(r"/?(?<![\w◁]/)(?i:think)▷")),
    Shape("gemma channel", "think", "open", ("<|channel>", "<channel|>"), re.compile(r"<\|channel>|<(?P<slash>)channel\|>")),
    Shape("harmony channel", "think", "channel", ("<|channel|>",), re.compile(r"<\|channel\|>")),
    Shape("medgemma", "think", "open", ("<unused94>", "<unused95>"), re.compile(r"<unused94>thought|<(?P<slash>)unused95>")),
    Shape("apriel prose", "think", "close", ("[begin final response]",), re.compile(r"\[BEGIN FINAL RESPONSE\]")),
    Shape("pipe token", "special", "turn", ("<|",), re.compile(r"<\|(?:[A-Za-z0-9_/.:▁-]{1,48}|(?:begin|end) of (?:sentence|text|turn))\|>")),
    Shape("gemma token", "special", "tool", ("<|", "|>"), re.compile(r"<\|(?:tool(?:_call|_response)?|turn|image|audio|video)>|<(?:tool(?:_call|_response)?|turn|image|audio|video)\|>")),
    Shape("wide token", "special", "turn", ("<｜", "</｜"), re.compile(r"</?｜[^<>\n｜]{1,48}｜[^<>\n]{0,120}>")),
    Shape("dsml", "special", "tool", ("|DSML|",), re.compile(r"</?\|DSML\|[^<>\n]{0,120}>")),
    Shape("half token", "special", "half", ("<|",), re.compile(rf"<\|{_PIECES}\|?(?![\w|>])")),
    Shape("half token", "special", "half", ("|>",), re.compile(rf"(?<![<|\w]){_PIECES}\|>")),
    Shape("half token", "special", "half", ("|",), re.compile(rf"\|(?<![\w<|]\|){_ROLES}\|(?!\w+\|)>?")),
    Shape("sentence token", "special", "eos", ("<s>", "</s>"), re.compile(r"</?s>")),
    Shape("word token", "special", "pad", ("<",), re.compile(
        r"<(?:bos|eos|pad|unk|sop|eop|eot|eod|eoh|eoa|eom|BOS|EOS|PAD|UNK|EOT|EOD|EOM|sep|(?:[eb]os|pad|EOS|BOS|PAD)_(?:token|TOKEN)|(?:start|end)_of_(?:turn|image|audio|video|utterance|text|sentence"
        r"|role|file|message|speech|document|chunk|header)|unused\d{1,4}|extra_id_\d{1,4}|SPECIAL_\d{1,5}"
        r"|reserved(?:_special_token|_token)?_\d{1,5}|0x[0-9A-Fa-f]{2}|fim_(?:prefix|suffix|middle|pad)|PRE|SUF|MID|(?:image|audio|video)_soft_token|IMG_CONTEXT|_(?:user|bot|end|start))>")),
    Shape("bracket token", "special", "turn", ("[",), re.compile(
        r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|MODEL_SETTINGS|IMG_BREAK|IMG_END|gMASK|PAD|UNK|BOS|EOS)\]|\[(?:CLS|SEP)\]")),
    Shape("exaone token", "special", "turn", ("[|",), re.compile(r"\[\|[a-z_]{3,24}\|\]")),
    Shape("ling role", "special", "turn", ("<role>",), re.compile(r"<role>(?:HUMAN|USER|ASSISTANT|SYSTEM|OBSERVATION)</role>")),
    Shape("qwen agent words", "special", "tool", ("✿",), re.compile(r"✿(?:FUNCTION|ARGS|RESULT|RETURN)✿")),
    Shape("tool list", "special", "tool", ("<tool",), re.compile(r"<tools?>(?=\s{0,4}\{\s{0,4}\"(?:name|type)\")")),
    Shape("function gemma", "special", "tool", ("_function_",), re.compile(r"<(?:start|end)_function_(?:call|response|declaration)>")),
    Shape("mistral arguments", "special", "tool", ("[ARGS]",), re.compile(r"\[(?<=\w\[)ARGS\](?=\s{0,4}\{)")),
    Shape("llama2 system", "special", "turn", ("SYS>>",), re.compile(r"<</?SYS>>")),
    Shape("tool tag", "special", "tool", ("<",), re.compile(
        rf"</?(?:[a-z]{{2,12}}:|longcat_)?{_TOOL}>|<(?:antml:|[a-z]{{2,12}}:)?(?:invoke|function|parameter)(?:=[\w.:\"'-]{{1,64}}|\s+name=[\"'][^\"'<>\n]{{1,64}}[\"'][^<>\n]{{0,40}})>|</(?:[a-z]{{2,12}}:)?(?:invoke|function)>")),
    Shape("answer tag", "special", "answer", ("answer>", "response>"), re.compile(r"<(?P<slash>/?)(?:answer|response|final_answer)>")),
)  # fmt: skip

# Where a match's literal is not in the table, this role tells turn tokens from tool markup and so on.
_ROLE_WORDS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("tool", re.compile(r"(?i)tool|function|python|action|invoke|parameter|arg_|DSML|ipython")),
    ("answer", re.compile(r"(?i)box|answer|response|solution")),
    ("fim", re.compile(r"(?i)fim|^<(?:PRE|SUF|MID)>|repo_name|file_sep")),
    ("vision", re.compile(r"(?i)image|vision|video|audio|IMG|ref|quad|object")),
    ("byte", re.compile(r"^<0x")),
    ("pad", re.compile(r"(?i)pad|unk|reserved|extra_id|unused|special_")),
    ("bos", re.compile(r"(?i)^<s>$|bos|begin_?▁?of_?▁?(?:text|sentence)|sop|gMASK|CLS")),
    ("eos", re.compile(r"(?i)^</s>$|eos|end_?▁?of_?▁?(?:text|sentence)|eop|SEP")),
)

_END_WORD = re.compile(r"(?i)</|end|stop|close|finish")


@cache
def shapes(kind: Kind) -> tuple[Shape, ...]:
    """The shapes of one kind, in table order."""
    return tuple(shape for shape in SHAPES if shape.kind == kind)


@cache
def table(kind: Kind) -> dict[str, Marker]:
    """Known literals of one kind, in lower case."""
    return {marker.literal.lower(): marker for marker in MARKERS if marker.kind == kind}


@dataclass(frozen=True, slots=True)
class Hit:
    """A marker in a text: half-open `start`, `end` in characters."""

    start: int
    end: int
    role: Role
    family: str
    name: str  # what a reason may show: a literal of the table, or the shape's name; never the text itself


MOST_HITS = 400  # hits of one shape that are looked at; a text with more is a loop of markers, and its first ones tell what it is


def find(text: str, kind: Kind) -> list[Hit]:
    """Markers of one kind in a text, by position; where two shapes overlap, the longer match stands. Linear in the text's length."""
    hits: list[Hit] = []
    known = table(kind)
    gated = text.lower() if kind == "think" else text
    for shape in shapes(kind):
        for gate in shape.gates:
            if gate in gated:
                break
        else:
            continue
        for count, match in enumerate(shape.pattern.finditer(text)):
            if count >= MOST_HITS:
                break
            hits.append(_hit(match, shape, known))
    if len(hits) < 2:
        return hits
    hits.sort(key=lambda hit: (hit.start, -hit.end))
    kept = [hits[0]]
    for hit in hits[1:]:
        if hit.start >= kept[-1].end:
            kept.append(hit)
    return kept


def _hit(match: re.Match[str], shape: Shape, known: dict[str, Marker]) -> Hit:
    literal = match.group().strip()
    marker = known.get(literal.lower())
    if marker is not None:
        return Hit(match.start(), match.end(), marker.role, marker.family, marker.literal)
    role = shape.role
    if shape.kind == "think" and _closes(match, shape, literal):
        role = "close"
    elif shape.kind == "think" and "half" in shape.name:
        role = "open"
    elif shape.name in ("pipe token", "wide token", "word token", "bracket token"):
        role = next((role for role, words in _ROLE_WORDS if words.search(literal)), role)
    return Hit(match.start(), match.end(), role, shape.name, shape.name)


def _closes(match: re.Match[str], shape: Shape, literal: str) -> bool:
    """A think marker that closes: a slash, a word such as END, or the closing one of an asymmetric pair."""
    slash = match.group("slash") if "slash" in shape.pattern.groupindex else None
    if slash == "/" or (slash is not None and shape.name in ("gemma channel", "medgemma", "inner")):
        return True
    if shape.name == "pipe tag":
        return _END_WORD.search(literal) is not None
    return literal.startswith(("</", "/", "[/"))

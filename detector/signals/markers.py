"""The one table of marker literals and shapes: what reasoning, template and tool markup looks like when it stands in an answer.

`MARKERS` names each known literal with family, role, the engines or models that use it, and a public report or source. `SHAPES` are patterns that find
these literals and their variants (case, white space, prefixes, halves, unknown members of a family). `HINTS` are what the byte scan looks for: every
text that holds something of the table holds one of them. A custom end-of-thinking string comes from `SignalOptions.think_markers`, not from here.
Sources: v# = vllm-project/vllm, s# = sgl-project/sglang, others in full; "template" = the family's published chat template or tokenizer configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

Kind = Literal["think", "special"]
Role = Literal["open", "close", "channel", "turn", "bos", "eos", "pad", "tool", "fim", "vision", "byte", "answer", "half"]


@dataclass(frozen=True, slots=True)
class Marker:
    """One known literal. `family`: the name that reasons show; `engine`: engines or models that use it."""

    literal: str
    family: str
    role: Role
    kind: Kind
    engine: str
    source: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern for a group of literals. `gates`: one of these stands in every match, so a text without them needs no search."""

    name: str
    kind: Kind
    role: Role
    gates: tuple[str, ...]
    pattern: re.Pattern[str]


def _family(kind: Kind, family: str, engine: str, source: str, **roles: str) -> tuple[Marker, ...]:
    """Markers of one family: keyword = role, value = literals separated by spaces."""
    return tuple(Marker(literal, family, role, kind, engine, source) for role, literals in roles.items() for literal in literals.split())  # type: ignore[arg-type]


MARKERS: tuple[Marker, ...] = (
    *_family("think", "think", "Qwen, DeepSeek R1, GLM, MiniMax M2, SmolLM3 and most others", "v#26239, v#34684, v#39697", open="<think>", close="</think>"),
    *_family("think", "thinking", "prompted or distilled models", "QwenLM/qwen-code#10791", open="<thinking>", close="</thinking>"),
    *_family("think", "mm:think", "MiniMax M3", "v#46042", open="<mm:think>", close="</mm:think>"),
    *_family("think", "seed:think", "Seed-OSS", "vllm-project/vllm-ascend#2534", open="<seed:think>", close="</seed:think>"),
    *_family("think", "seed:think", "Seed-OSS", "template", open="<seed:cot_budget_reflect>", close="</seed:cot_budget_reflect>"),
    *_family("think", "longcat_think", "LongCat-Flash", "template", open="<longcat_think>", close="</longcat_think>"),
    *_family("think", "M2_7think", "MiniMax M2.7 (model name before the tag)", "NousResearch/hermes-agent#75094", open="<M2_7think>", close="</M2_7think>"),
    *_family("think", "thought", "EXAONE Deep", "template", open="<thought>", close="</thought>"),
    *_family("think", "reasoning", "Granite 4, prompted models", "s#38693", open="<reasoning>", close="</reasoning>"),
    *_family("think", "reflection", "Reflection tunes", "template", open="<reflection>", close="</reflection>"),
    *_family("think", "[THINK]", "Magistral, Ministral", "RooCodeInc/Roo-Code#8522, v#45359", open="[THINK]", close="[/THINK]"),
    *_family("think", "◁think▷", "Kimi-VL, Kimi k1.5", "Blaizzy/mlx-vlm#1911", open="◁think▷", close="◁/think▷"),
    *_family("think", "START_THINKING", "Command A reasoning", "smg-project/smg#317", open="<|START_THINKING|>", close="<|END_THINKING|>"),
    *_family("think", "begin_of_thought", "Sky-T1, OpenThinker", "template", open="<|begin_of_thought|>", close="<|end_of_thought|>"),
    *_family("think", "|think|", "Solar Open, step models", "template", open="<|think|> <|thinking|>", close="<|/think|> <|/thinking|>"),
    *_family("think", "gemma channel", "Gemma 4", "Blaizzy/mlx-vlm#899, jundot/omlx#2533", open="<|channel>", close="<channel|>"),
    *_family("think", "harmony channel", "gpt-oss", "v#32587, NVIDIA/TensorRT-LLM#9256", channel="<|channel|>"),
    *_family("think", "harmony words", "gpt-oss, special tokens stripped", "Augustas11/macprovider#743", channel="assistantfinal assistantanalysis assistantcommentary"),
    *_family("think", "medgemma", "MedGemma 1.5", "template", open="<unused94>thought", close="<unused95>"),
    Marker("Here is my thought process:", "granite prose", "open", "think", "Granite 3.2", "v#14202"),
    Marker("Here is my response:", "granite prose", "close", "think", "Granite 3.2", "v#14202"),
    Marker("[BEGIN FINAL RESPONSE]", "apriel prose", "close", "think", "Apriel", "template"),
    *_family("special", "chatml", "Qwen, Yi, Hermes, ChatGLM2", "v#2919, moltis-org/moltis#306", turn="<|im_start|> <|im_end|> <|im_sep|>"),
    *_family("special", "llama3", "Llama 3", "v#4180", turn="<|eot_id|> <|eom_id|> <|start_header_id|> <|end_header_id|>", bos="<|begin_of_text|>", eos="<|end_of_text|>"),
    *_family("special", "llama3 tools", "Llama 3.1 to 4", "v#22917", tool="<|python_tag|> <|python_start|> <|python_end|>"),
    *_family("special", "llama4", "Llama 4", "template", turn="<|header_start|> <|header_end|> <|eot|> <|eom|>"),
    *_family("special", "gpt", "GPT-2 family, Qwen", "yanun0323/Whallm#5", eos="<|endoftext|> <|endofprompt|>", pad="<|padding|> <|pad|>"),
    *_family("special", "harmony", "gpt-oss", "NVIDIA/TensorRT-LLM#9256", turn="<|start|> <|end|> <|message|> <|return|> <|call|> <|constrain|> <|channel|>"),
    *_family("special", "phi, glm, zephyr roles", "Phi, GLM, Zephyr", "v#3136, v#4577", turn="<|assistant|> <|user|> <|system|> <|observation|> |assistant| |user| |system|"),
    *_family("special", "sentencepiece", "Llama 2, Mistral, T5", "huggingface/transformers#23175, v#46224", bos="<s> <bos>", eos="</s> <eos>", pad="<pad> <unk> [PAD] [UNK]"),
    *_family("special", "chatglm", "ChatGLM", "template", bos="[gMASK] <sop>", eos="<eop>"),
    *_family("special", "bert words", "BERT family", "template", bos="[BOS] [CLS]", eos="[EOS] [SEP]"),
    *_family("special", "gemma", "Gemma", "template", turn="<start_of_turn> <end_of_turn> <|turn> <turn|>", vision="<start_of_image> <end_of_image>", pad="<unused7>"),
    *_family("special", "gemma tools", "Gemma 4", "template", tool="<|tool_call> <tool_call|> <|tool_response> <tool_response|> <|tool> <tool|>"),
    *_family("special", "deepseek", "DeepSeek", "v#48645, vllm-project/vllm-ascend#9767", bos="<｜begin▁of▁sentence｜>", eos="<｜end▁of▁sentence｜>", turn="<｜User｜> <｜Assistant｜>"),
    *_family("special", "deepseek tools", "DeepSeek V3", "template", tool="<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁sep｜>"),
    *_family("special", "deepseek dsml", "DeepSeek V3.2, V4", "vllm-project/vllm-ascend#9767", tool="<｜DSML｜tool_calls> </｜DSML｜invoke>"),
    *_family("special", "mistral", "Mistral", "v#20028", turn="[INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS]"),
    *_family("special", "mistral tools", "Mistral, Ministral 3", "v#20028, v#29968", tool="[TOOL_CALLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CONTENT] [CALL_ID]"),
    *_family("special", "llama2", "Llama 2", "template", turn="<<SYS>> <</SYS>>"),
    *_family("special", "hermes tools", "Qwen, Hermes", "jundot/omlx#3153", tool="<tool_call> </tool_call> <tool_response> </tool_response> <tool_calls> </tool_calls>"),
    *_family("special", "xml tools", "Qwen3-Coder, Nemotron", "v#44676", tool="<function= </function> <parameter= <function_call> </function_call> <TOOLCALL> </TOOLCALL>"),
    *_family("special", "minimax tools", "MiniMax M2", "template", tool="<minimax:tool_call> </minimax:tool_call> <invoke </invoke>"),
    *_family("special", "glm tools", "GLM 4.5+", "v#42400", tool="<arg_key> </arg_key> <arg_value> </arg_value>"),
    *_family("special", "seed, longcat tools", "Seed-OSS, LongCat", "template", tool="<seed:tool_call> </seed:tool_call> <longcat_tool_call>"),
    *_family("special", "kimi tools", "Kimi K2", "template", tool="<|tool_calls_section_begin|> <|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|>"),
    *_family("special", "cohere", "Command R, Command A", "template", tool="<|START_ACTION|> <|END_ACTION|>", answer="<|START_RESPONSE|>", turn="<|START_OF_TURN_TOKEN|>"),
    *_family("special", "phi, firefunction tools", "Phi-4 mini, FireFunction", "template", tool="functools["),
    *_family("special", "glm box", "GLM-4.1V to 4.6V", "raullenchai/Rapid-MLX#374, zai-org/GLM-V#243", answer="<|begin_of_box|> <|end_of_box|>"),
    *_family("special", "answer tags", "Hunyuan-A13B", "v#58127", answer="<answer> </answer>"),
    *_family("special", "fim", "StarCoder, Qwen Coder, CodeLlama", "v#9310", fim="<fim_prefix> <fim_suffix> <fim_middle> <|fim_prefix|> <|fim_middle|> <PRE> <SUF> <MID> <EOT>"),
    *_family("special", "bytes", "SentencePiece byte fallback", "template", byte="<0x0A>"),
    *_family("special", "reserved", "T5, Nemotron, Baichuan", "template", pad="<extra_id_0> <SPECIAL_12> <reserved_106>"),
    *_family("special", "vision", "Qwen-VL, Idefics, Mistral", "template", vision="<|vision_start|> <|image_pad|> <end_of_utterance> <image_soft_token> [IMG_END] [IMG_BREAK]"),
)  # fmt: skip

# Names that engines and models give the reasoning element. `_MODEL` are prefixes met or likely before it (NousResearch/hermes-agent#75094).
_NAME = r"(?:think(?:ing)?(?:_\w{1,48})?|thoughts?(?:_process)?|reasoning(?:_content)?|reflection|scratch_?pad|inner_?monologue|cot(?:_budget_reflect)?|思考(?:过程|過程)?|생각|추론)"
_MODEL = r"(?:qwen|deepseek|minimax|glm|kimi|gemma|gpt|llama|mistral|nemotron|hunyuan|ernie|granite|exaone|seed|longcat|phi|grok|claude|ant|mimo|step|ling)"
_PREFIX = rf"(?:[A-Za-z][\w.:-]{{0,30}}[_:.\d-]|{_MODEL})"
_ROLES = r"(?:im_start|im_end|im_sep|endoftext|eot_id|eom_id|assistant|user|system|observation|start_header_id|end_header_id|begin_of_text|end_of_text)"
_TOOL = r"(?:tool_calls?|tool_response|tool_results?|tool_use|tool_call_name|function_calls?|functioncall|TOOLCALL|arg_key|arg_value|execute_tool)"

SHAPES: tuple[Shape, ...] = (
    Shape("tag", "think", "open", ("<", "＜", "〈"), re.compile(rf"[<＜〈]\s{{0,2}}(?P<slash>/?)\s{{0,2}}(?i:{_PREFIX}?{_NAME})\s{{0,2}}[>＞〉]")),
    Shape("half tag", "think", "half", ("think", "Think", "THINK"), re.compile(r"</(?i:think(?:ing)?)(?=\s|$)|<(?i:think(?:ing)?)(?=\s*(?:\n|$))|(?<![\w</\\|:\[◁＜~*-])(?<![\s./]\.)(?<!^\.)/(?i:think(?:ing)?)>")),
    Shape("half tag", "think", "half", ("<thi", "</thi"), re.compile(r"</?thi(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?\Z")),
    Shape("half tag", "think", "half", ("think>", "Think>"), re.compile(r"\A\s{0,8}/?[Tt]hink(?:ing)?>")),
    Shape("pipe tag", "think", "open", ("<|", "<｜", "</|"), re.compile(r"</?[|｜](?P<slash>/?)(?i:(?=[\w▁]{0,24}(?:think|thought|reasoning))[\w▁]{3,40})[|｜]>")),
    Shape("bracket tag", "think", "open", ("THINK]", "REASONING]", "hink]"), re.compile(r"\[(?P<slash>/?)THINK\]|\[/(?:THINKING|REASONING|think|Think|thinking)\]")),
    Shape("triangle tag", "think", "open", ("◁", "▷"), re.compile(r"◁\s?(?P<slash>/?)\s?(?i:think(?:ing)?)\s?▷?|(?<![\w◁/])/?think▷")),
    Shape("gemma channel", "think", "open", ("<|channel>", "<channel|>"), re.compile(r"<\|channel>|<(?P<slash>)channel\|>")),
    Shape("harmony channel", "think", "channel", ("<|channel|>",), re.compile(r"<\|channel\|>")),
    Shape("medgemma", "think", "open", ("<unused94>", "<unused95>"), re.compile(r"<unused94>thought|<(?P<slash>)unused95>")),
    Shape("apriel prose", "think", "close", ("[BEGIN FINAL RESPONSE]",), re.compile(r"\[BEGIN FINAL RESPONSE\]")),
    Shape("pipe token", "special", "turn", ("<|",), re.compile(r"<\|[A-Za-z0-9_/.:-]{1,48}\|>")),
    Shape("gemma token", "special", "tool", ("<|t", "<|i", "<|a", "|>"), re.compile(r"<\|(?:tool(?:_call|_response)?|turn|image|audio|video)>|<(?:tool(?:_call|_response)?|turn|image|audio|video)\|>")),
    Shape("wide token", "special", "turn", ("<｜", "</｜"), re.compile(r"</?｜[^<>\n｜]{1,48}｜[^<>\n]{0,120}>")),
    Shape("dsml", "special", "tool", ("|DSML|",), re.compile(r"</?\|DSML\|[^<>\n]{0,120}>")),
    Shape("half pipe token", "special", "half", ("|",), re.compile(rf"<\|{_ROLES}\|?(?![\w|>])|(?<![\w<|]){_ROLES}\|>|(?<![\w<|])\|{_ROLES}\|(?!\w+\|)>?")),
    Shape("sentence token", "special", "eos", ("<s>", "</s>"), re.compile(r"</?s>")),
    Shape("word token", "special", "pad", ("<",), re.compile(
        r"<(?:bos|eos|pad|unk|sop|eop|eot|eod|eoh|eoa|eom|BOS|EOS|PAD|UNK|EOT|EOD|EOM|(?:start|end)_of_(?:turn|image|audio|video|utterance|text|sentence|role|file|message|speech|document|chunk|header)|unused\d{1,4}|extra_id_\d{1,4}|SPECIAL_\d{1,5}"
        r"|reserved(?:_special_token|_token)?_\d{1,5}|0x[0-9A-Fa-f]{2}|fim_(?:prefix|suffix|middle|pad)|PRE|SUF|MID|image_soft_token|IMG_CONTEXT|_(?:user|bot|end|start))>")),
    Shape("bracket token", "special", "turn", ("[",), re.compile(
        r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|CALL_ID|MODEL_SETTINGS|IMG_BREAK|IMG_END|gMASK|PAD|UNK|BOS|EOS)\]|(?<=\w)\[ARGS\](?=\s*\{)|\[(?:CLS|SEP)\]")),
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

HINTS: tuple[str, ...] = (
    *("<|", "<｜", "</|", "</｜", "|>", "◁", "▷", "＜", "〈"),
    *("<think", "<Think", "<THINK", "</think", "</Think", "</THINK", "< think", "</ think", "< /think", "think>", "Think>", "/THINK", "THINK]", "hink]", "REASONIN", "thinking"),
    *("<thought", "</though", "<Thought", "</Though", "<reasoni", "</reason", "<Reasoni", "</Reason", "<reflect", "</reflec", "<scratch", "</scratc", "<inner", "</inner"),
    *("<cot", "</cot", "<thi", "</thi", "<思考", "</思考", "<생각", "</생각", "<추론", "</추론", ":think", "_think", "[BEGIN F", "_thought", ":thought", "king>", "hought>", "asoning>"),
    *("antfinal", "antanaly", "antcomme", "^thought", "^analysi", "^comment", "^Here is ", "^Here's m", "=functio", "default_"),
    *("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<sop>", "<eop>", "<eo", "<BOS>", "<EO", "<PAD>", "<UNK>", "<start_o", "<end_of_", "<unused", "<extra_i", "<SPECIAL", "<reserve"),
    *("<0x", "<fim_", "<PRE>", "<SUF>", "<MID>", "<seed", "</seed", "<image_s", "<IMG_CON", "<_", "|assista", "|user|", "|system|", "|observa", "|im_", "|endofte", "|eot_id", "|eom_id", "|start_h", "|end_hea"),
    *("|begin_o", "|end_of_", "|DSML|", "[INST]", "[/INST]", "[SYSTEM_", "[/SYSTEM", "[AVAILAB", "[/AVAILA", "[TOOL_", "[/TOOL_", "[CALL_ID", "[MODEL_S", "[/MODEL_", "[IMG_", "[gMASK]"),
    *("[PAD]", "[UNK]", "[BOS]", "[EOS]", "[ARGS]", "[CLS]", "[SEP]", "<<SYS>>", "<</SYS>", "tool_cal", "tool_res", "tool_use", "<functio", "</functi", ":functio", "<paramet", ":paramet"),
    *("<invoke", "</invoke", ":invoke", "TOOLCALL", "arg_key>", "arg_valu", "<execute", "</execut", "functool", "answer>", "<respons", "</respon", "tool_cod"),
)  # fmt: skip


# Pieces of which every answer that `judge` flags holds one: what a store can pre-filter by. Broader than HINTS where a store knows no "begins with".
THINK_CONTAINS: tuple[str, ...] = (
    *("think", "Think", "THINK", "hought", "HOUGHT", "easoning", "EASONING", "eflection", "EFLECTION", "cratch", "CRATCH", "onologue", "ONOLOGUE", "</thi", "<thi", "cot", "COT", "思考", "생각", "추론"),
    *("<|channel", "<channel|", "unused9", "[BEGIN FINAL RESPONSE]", "assistantfinal", "assistantanalysis", "assistantcommentary", "analysis", "my response:"),
)  # fmt: skip
SPECIAL_CONTAINS: tuple[str, ...] = (
    *("<|", "|>", "<｜", "</｜", "|DSML|", "|assistant|", "|user|", "|system|", "|observation|", "|im_", "|endoftext|", "_id|", "<s>", "</s>", "<bos>", "<eo", "<pad>", "<unk>", "<sop>", "<BOS>", "<EO", "<PAD>"),
    *("<UNK>", "<start_of_", "<end_of_", "<unused", "<extra_id_", "<SPECIAL_", "<reserved", "<0x", "<fim_", "<PRE>", "<SUF>", "<MID>", "<image_soft", "<IMG_", "<_", "INST]", "SYSTEM_PROMPT]", "AVAILABLE_TOOLS]"),
    *("[TOOL_", "[/TOOL_", "[CALL_ID]", "MODEL_SETTINGS]", "[IMG_", "[gMASK]", "[PAD]", "[UNK]", "[BOS]", "[EOS]", "[ARGS]", "[CLS]", "[SEP]", "SYS>>", "tool_call", "tool_res", "tool_use", "function", "TOOLCALL"),
    *("arg_key", "arg_value", "execute_tool", "<invoke", "</invoke", ":invoke", "<parameter", ":parameter", "answer>", "response>", "functools[", "default_api", "tool_code", "commentary", ")]", '"name"', "call:"),
)  # fmt: skip


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
    for shape in shapes(kind):
        if not any(gate in text for gate in shape.gates):
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
    if shape.kind == "think":
        closes = "slash" in shape.pattern.groupindex and match.group("slash") is not None
        if (closes and (match.group("slash") == "/" or shape.name in ("gemma channel", "medgemma"))) or (shape.name == "bracket tag" and literal.startswith("[/")) or (shape.name == "pipe tag" and re.search(r"(?i)</|end|stop|close|finish", literal)) or (shape.name == "half tag" and literal.lstrip().startswith(("</", "/"))):
            role = "close"
        elif shape.name == "half tag":
            role = "open"
    elif shape.name in ("pipe token", "wide token", "word token", "bracket token"):
        role = next((role for role, words in _ROLE_WORDS if words.search(literal)), role)
    return Hit(match.start(), match.end(), role, shape.name, shape.name)

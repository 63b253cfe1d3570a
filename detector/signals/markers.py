"""The one table of marker literals: what reasoning, template and tool markup looks like, and what every text that holds some of it must hold.

`MARKERS` names each known literal with family, role, the engines or models that use it, and a public report or source;
`detector.signals.marker_shapes` finds them and their variants in a text. `HINTS` are what the byte scan looks for: every text that holds something of the
table holds one of them. A custom end-of-thinking string comes from `SignalOptions.think_markers`, not from here. Sources: v# = vllm-project/vllm,
s# = sgl-project/sglang, others in full; "template" = the family's published chat template or tokenizer configuration.
"""

# ruff: noqa: E501 - tables, one family a line

from __future__ import annotations

from dataclasses import dataclass
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
    *_family("think", "inner", "Apertus", "template", open="<|inner_prefix|>", close="<|inner_suffix|>"),
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
    *_family("special", "sentencepiece", "Llama 2, Mistral, T5", "huggingface/transformers#23175, v#46224", bos="<s> <bos>", eos="</s> <eos>", pad="<pad> <unk> [PAD] [UNK] <pad_token>"),
    *_family("special", "chatglm", "ChatGLM", "template", bos="[gMASK] <sop>", eos="<eop>"),
    *_family("special", "bert words", "BERT family", "template", bos="[BOS] [CLS]", eos="[EOS] [SEP]"),
    *_family("special", "gemma", "Gemma", "template", turn="<start_of_turn> <end_of_turn> <|turn> <turn|>", vision="<start_of_image> <end_of_image>", pad="<unused7>"),
    *_family("special", "gemma tools", "Gemma 4", "template", tool="<|tool_call> <tool_call|> <|tool_response> <tool_response|> <|tool> <tool|>"),
    *_family("special", "deepseek", "DeepSeek", "v#48645, vllm-project/vllm-ascend#9767", bos="<｜begin▁of▁sentence｜>", eos="<｜end▁of▁sentence｜>", turn="<｜User｜> <｜Assistant｜>"),
    *_family("special", "deepseek tools", "DeepSeek V3", "template", tool="<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁sep｜>"),
    *_family("special", "deepseek dsml", "DeepSeek V3.2, V4", "vllm-project/vllm-ascend#9767", tool="<｜DSML｜tool_calls> </｜DSML｜invoke>"),
    *_family("special", "exaone", "EXAONE", "template", turn="[|assistant|] [|user|] [|system|] [|endofturn|]"),
    *_family("special", "qwen agent words", "Qwen with Qwen-Agent prompts", "template", tool="✿FUNCTION✿ ✿ARGS✿ ✿RESULT✿ ✿RETURN✿"),
    *_family("special", "function gemma", "FunctionGemma", "template", tool="<start_function_call> <end_function_call>"),
    *_family("special", "ling role", "Ling, Ring", "template", turn="<role>HUMAN</role> <role>ASSISTANT</role>"),
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

# What the byte scan looks for: literals of at most eight bytes, anywhere in a text. They begin with bytes that are rare in prose, because each place that
# such a byte stands at is compared; beginnings of the whole text are `STARTS`, which `think_leak` and `special_token_leak` look at once more.
HINTS: tuple[str, ...] = (
    *("<|", "<｜", "</|", "</｜", "|>", "◁", "▷", "＜", "k>", "THINK]", "[|", "✿", "_functio", "/think>", "/thinkin"),
    *("<think", "<Think", "<THINK", "</think", "</Think", "</THINK", "< think", "< Think", "</ think", "< /think", "</ Think", "<  think"),
    *("_think", ":think", "-think", ".think", "_though", ":though", "-though", "_reason", ":reason", "<thi", "</thi"),
    *("<thought", "</though", "< though", "<Thought", "</Though", "<THOUGHT", "</THOUGH", "<reasoni", "</reason", "<Reasoni", "</Reason", "<REASONI", "</REASON"),
    *("<reflect", "</reflec", "<Reflect", "</Reflec", "<scratch", "</scratc", "<Scratch", "</Scratc", "<inner", "</inner", "<intern", "</inter", "<cot", "</cot", "<seed:", "</seed:", "<CoT", "</CoT"),
    *("<思考", "</思考", "<생각", "</생각", "<추론", "</추론", "[BEGIN F", "[THINK", "[/THINK", "[/REASON", "[/think", "[/Think", "tfinal", "tanalys", "tcomment"),
    *("<s>", "</s>", "<bos>", "<pad>", "<unk>", "<sop>", "<eo", "<sep>", "<bos_", "<pad_", "<BOS_", "<PAD_", "<role>H", "<role>U", "<role>A", "<role>S", "<role>O", "<tools>", "<tool>", "<audio_s", "<video_s", "<BOS>", "<EO", "<PAD>", "<UNK>", "<start_of", "<end_of_", "<unused", "<extra_i", "<SPECIAL", "<reserve"),
    *("<0x", "<fim_", "<PRE>", "<SUF>", "<MID>", "<image_s", "<IMG_CON", "<_user>", "<_bot>", "<_end>", "<_start>", "|assista", "|user|", "|system|", "|observa"),
    *("|im_", "|endofte", "|eot_id", "|eom_id", "|start_h", "|end_hea", "|begin_o", "|end_of_", "|DSML|", "[INST]", "[/INST]", "[SYSTEM_", "[/SYSTEM", "[AVAILAB"),
    *("[/AVAILA", "[TOOL_", "[/TOOL_", "[CALL_ID", "[MODEL_S", "[/MODEL_", "[IMG_", "[gMASK]", "[PAD]", "[UNK]", "[BOS]", "[EOS]", "[ARGS]", "[CLS]", "[SEP]", "<<SYS>>"),
    *("<</SYS>", "<tool_", "</tool_", ":tool_", "_tool_ca", "<functio", "</functi", ":functio", "=functio", "<paramet", ":paramet", "<invoke", "</invoke", ":invoke", "<TOOLCAL"),
    *("</TOOLCA", "<arg_", "</arg_", "<execute", "</execut", "hinking>", "HINKING>", "hought>", "houghts>", "asoning>", "<answer>", "</answer", "<respons", "</respon", "<final_a", "</final_"),
)  # fmt: skip
STARTS: tuple[str, ...] = ("thought", "analysis", "commentary", "think>", "Think>", "/think", "Here is my thought", "Here's my thought", "Here’s my thought")


# Pieces of which every answer that `judge` flags holds one: what a store can pre-filter by. Broader than HINTS where a store knows no "begins with".
THINK_CONTAINS: tuple[str, ...] = (
    *("think", "Think", "THINK", "hought", "HOUGHT", "easoning", "EASONING", "eflection", "EFLECTION", "cratch", "CRATCH", "onologue", "ONOLOGUE", "</thi", "<thi", "nk>", "cot", "COT", "思考", "생각", "추론"),
    *("<|inner_", "<|channel", "<channel|", "unused9", "[BEGIN FINAL RESPONSE]", "assistantfinal", "assistantanalysis", "assistantcommentary", "analysis", "my response:"),
)  # fmt: skip
SPECIAL_CONTAINS: tuple[str, ...] = (
    *("<|", "|>", "<｜", "</｜", "[|", "✿", "<sep>", "_token>", "_TOKEN>", "<role>", "<tool", "_function_", "|channel|", "|message|", "|constrain|", "_soft_token", "|DSML|", "|assistant|", "|user|", "|system|", "|observation|", "|im_", "|endoftext|", "_id|", "<s>", "</s>", "<bos>", "<eo", "<pad>", "<unk>", "<sop>", "<BOS>", "<EO", "<PAD>"),
    *("<UNK>", "<start_of_", "<end_of_", "<unused", "<extra_id_", "<SPECIAL_", "<reserved", "<0x", "<fim_", "<PRE>", "<SUF>", "<MID>", "<image_soft", "<IMG_", "<_", "INST]", "SYSTEM_PROMPT]", "AVAILABLE_TOOLS]"),
    *("[TOOL_", "[/TOOL_", "[CALL_ID]", "MODEL_SETTINGS]", "[IMG_", "[gMASK]", "[PAD]", "[UNK]", "[BOS]", "[EOS]", "[ARGS]", "[CLS]", "[SEP]", "SYS>>", "tool_call", "tool_res", "tool_use", "function", "TOOLCALL"),
    *("arg_key", "arg_value", "execute_tool", "<invoke", "</invoke", ":invoke", "<parameter", ":parameter", "answer>", "response>", "functools[", "default_api", "tool_code", "commentary", ")]", '"name"', "call:"),
)  # fmt: skip

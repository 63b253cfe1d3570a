"""Words around a marker that show a sentence speaks of it, in the languages that answers come in. Patterns only; `mentions` says when each counts."""

# ruff: noqa: E501 - tables of patterns, one alternative of a kind a line

from __future__ import annotations

import re

# Nouns that name a marker whatever else the text is about, and nouns that do so only in a text about models and parsers.
_STRICT = (
    r"(?:(?:[a-z]{1,12}[-_])?(?:[Tt]ags?|[Tt]okens?)|TAGS?|[Mm]arkers?|[Dd]elimiters?|[Ss]entinels?|[Mm]arkup|(?:[Ss]top|[Ee]nd|[Cc]losing|[Oo]pening|[Ss]pecial"
    r"|[Cc]ontrol) (?:sequences?|strings?|words?|characters?|elements?)"
    r"|[Bb]alises?|[Jj]etons?|[Mm]arqueurs?|[Ee]tiquetas?|[Mm]arcador(?:es)?|[Mm]arcator[ei]|[Ee]tichett[ae]|Markierung(?:en)?|Trennzeichen|Zeichenfolgen?"
    r"|Zeichenketten?"
    r"|[Тт]ег\w{0,3}|[Тт]окен\w{0,3}|[Мм]аркер\w{0,3}|[Рр]азделител\w{0,3}|[Tt]hẻ|ký hiệu|[Ee]tiket\w{0,5}|[Bb]elirteç\w{0,5})"
)
_BROAD = (
    r"(?:[Ss]eparators?|[Ee]lements?|[Ss]equences?|[Ss]trings?|[Ss]ymbols?|[Ll]iterals?|[Pp]laceholders?|[Pp]airs?|Paare?|[Bb]rackets?|[Ww]rappers?|[Hh]eaders?"
    r"|[Tt]emplates?|[Tt]yped?|[Mm]arks?|[Mm]arcas?"
    r"|[Ss]ubstrings?|[Pp]atterns?|[Ll]ines?|Zeichen|Kennung(?:en)?|[Сс]трок\w{0,3}|[Сс]имвол\w{0,3})"
)
_STRICT_CJK = r"(?:结束符|终止符|起始符|填充符|태그|토큰|마커|구분자|구분 기호|特殊符号|标签|標籤|标记|標記|令牌|分隔符|词元|詞元|タグ|トークン|マーカー|区切り|블록|ブロック|块)"
_BROAD_CJK = r"(?:문자열|기호|표식|접두사|특수 ?문자|符号|符號|字符串|字串|字符|記号|文字列|目印|要素)"
_LEAKS = r"(?:leaks?|leakage|leaking|bug|issue|problem|error|artefact|artifact|residue|누출|유출|노출|泄漏|泄露|残留|漏れ)"

STRICT_NOUN = re.compile(rf"\b{_STRICT}\b|{_STRICT_CJK}")
STRICT_BEFORE = re.compile(rf"(?:\b{_STRICT}(?:[ \t]+[\w.,'’-]{{1,14}}){{0,3}}[ \t]*[:：(,]?[ \t]*|{_STRICT_CJK}[^\n.。!?<>]{{0,10}})\Z")
BROAD_BEFORE = re.compile(rf"(?:\b{_BROAD}(?:[ \t]+[\w.,'’-]{{1,14}}){{0,3}}[ \t]*[:：(,]?[ \t]*|{_BROAD_CJK}[^\n.。!?<>]{{0,10}})\Z")
STRICT_AFTER = re.compile(rf"\A(?:[ \t-]{{1,2}}(?:[a-zà-ÿа-я]+[ \t]){{0,2}}(?:{_STRICT}|{_LEAKS})(?![A-Za-z])|[ \t]?(?:[^\n.。!?<>，,]{{0,4}}){_STRICT_CJK})")
BROAD_AFTER = re.compile(rf"\A(?:[ \t-]{{1,2}}(?:[a-zà-ÿа-я]+[ \t]){{0,2}}{_BROAD}(?![A-Za-z])|[ \t]?[^\n.。!?<>，,]{{0,6}}{_BROAD_CJK})")
NOUN_NEXT = re.compile(rf"\A(?:[ \t-](?:{_STRICT})\b|[ \t]?{_STRICT_CJK}(?!如下|：|:)|[ \t]?(?:という|라는|이라는))")

# What a text about models, parsers and tokens holds, in lower case: stems that say so wherever they stand, and words that need their boundaries.
_ABOUT_STEMS = (
    *("token", "template", "parser", "chatml", "reasoning", "fine-tun", "finetun", "delimiter", "harmony", "gpt-oss", "sglang", "llama.cpp", "speculative"),
    *(
        "streamed",
        "streaming",
        "<think",
        "</think",
        "vocab",
        "regex",
        "leaked",
        "leaks",
        "[think",
        "[/think",
        "im_start",
        "im_end",
        "endoftext",
        "eot_id",
        "токен",
        "тег",
        "рассужден",
        "denkblock",
    ),
    *(
        " bloc ",
        "bloque",
        "blocco",
        "raisonnement",
        "razonamiento",
        "analyseur",
        "태그",
        "토큰",
        "마커",
        "구분자",
        "문자열",
        "특수문자",
        "템플릿",
        "파서",
        "프롬프트",
        "추론",
    ),
    *("标签", "標籤", "标记", "標記", "令牌", "分隔符", "词元", "詞元", "符号", "符號", "字符", "字串", "模板", "解析", "提示词", "思考", "推論"),
    *("タグ", "トークン", "マーカー", "区切り", "記号", "文字列", "テンプレート", "パーサ", "プロンプト"),
)
_ABOUT_WORDS = ("tag", "marker", "bos", "eos", "regex", "vocab", "leak", "llm", "mtp", "prompt", "qwen", "deepseek", "mistral", "llama", "parse", "parsing")
_ABOUT_WORD = re.compile(r"(?<![a-z])(?:tags?|markers?|[be]os|regex|vocab|leak|v?llms?|mtp|prompts?|qwen|deepseek|mistral|llama|pars(?:e[ds]?|ing))(?![a-z])")


def is_about_markers(text: str) -> bool:
    """A text, from which the markers themselves were taken, speaks of models, parsers, tokens or tags."""
    lowered = text.lower()
    if any(stem in lowered for stem in _ABOUT_STEMS):
        return True
    return any(word in lowered for word in _ABOUT_WORDS) and _ABOUT_WORD.search(lowered) is not None


# Verbs that follow a marker when a sentence is about it; lower case, because an answer after a marker begins with a capital.
SAYS = re.compile(
    r"\A[ \t]+(?:is|are|was|were|means?|marks?|signals?|denotes?|indicates?|tells?|appears?|appeared|shows?|shown|should|must|can|cannot|will|would|may"
    r"|might|ends?|starts?|begins?|closes?|opens?|separates?|comes?|gets?|got"
    r"|has|had|does|never|always|stands?|leaks?|leaked|belongs?|wraps?|in|inside|at|from|into|when|if|before|after|ist|sind|bedeutet|markiert|steht|beendet"
    r"|wird|est|sont|marque|signifie|indique|es|son|significa|indica|marca|è"
    r"|sono|é|são|означает|это)\b"
)
SAYS_STRONG = re.compile(
    r"\A[ \t]+(?:opens?|closes?|marks|denotes|wraps|separates|means|stands for|öffnet|schließt|beendet|bedeutet|markiert|ouvre|ferme|marque|signifie|abre"
    r"|cierra|marca|significa|fecha|apre|chiude|открывает|закрывает|означает|mở|đóng)\b"
)
AFTERWARDS = re.compile(r"\A[ \t]?(?:이후|이전|앞의|뒤의|다음의|之后|之後|之前|のあと|の後|の前|以降|以前)")
TOKEN_ID = re.compile(r"\A[ \t]*(?:[=:→]|->|=>)[ \t]*\d{1,7}\b|\A[ \t]*\(\d{2,7}\)")
AFTER_ID = re.compile(r"(?:\A[ \t]*|[\s(])\d{2,7}[ \t]*(?:[:=→]|->|=>)[ \t]*\Z|(?:→|->|=>)[ \t]+\Z")
HEADER = re.compile(r"(?:[ \t]|\\n)*(?:(?:assistant|user|system|developer|tool|analysis|commentary|final|json)(?:[ \t]|\\n)*)?\Z")
PLACEHOLDER = re.compile(
    r"(?:[ \t]|\\n)*(?:(?:role|content|text|message|prompt|response|question|name|key|value|reasoning|thinking|thoughts?|answer|arguments?|\{[^{}\n]{1,20}\}|\.\.\.|…)(?:[ \t]|\\n)*){1,3}\Z"
)
# Verbs before a marker that can only speak of a text: "emits X", "called X".
NAMES = re.compile(
    r"(?:^|[\s(])(?:has|have|had|holds?|shows?|found|what|how|why|whether|parse|for example|example:|contain(?:s|ing|ed)?|emit(?:s|ted|ting)?|output(?:s|ting)?|print(?:s|ed)?|append(?:s"
    r"|ed|ing)?|insert(?:s|ed|ing)?|strip(?:s|ped|ping)?|remov(?:e|es|ed|ing)|match(?:es|ing)?|replac(?:e|es|ed|ing)|us(?:e|es|ed|ing)"
    r"|called|named|like|such as|literal|escap(?:e|es|ed|ing)|(?:end|start|begin)(?:s|ning|ing)? with|e\.g\.,?|i\.e\.,?|write|writes|writing|type|typing"
    r"|generates?|closing|opening|unclosed|orphan(?:ed)?|stray|missing|grep|search for|look for"
    r"|see|sees|seeing|without|between|until|is it|what(?:'s| is| does| are)|why (?:is|does|do)|mention(?:s|ed|ing)?|enthält|gibt|heißt|namens|sans"
    r"|contient|contiene|llamado|chiamato|chamado|содержит|выводит|называется)[ \t]+\Z",
    re.I,
)
DETERMINER = re.compile(
    r"(?:^|[\s(])(?:the|an?|this|that|these|any|no|each|every|end|start|stop|raw|first|last|second|trailing|leading|with|by|after|before|inside|within"
    r"|writes?|adds?|finds?|means|is|are|as|and|or|of|for|from|to|on|in|into|saw|expects?"
    r"|via|der|die|das|ein|eine|den|dem|mit|ohne|nach|vor|bis|zwischen|und|von|le|la|les|un|une|avec|après|avant|entre|par|de|el|los|las|una|con|sin|hasta"
    r"|por|os?|as|um|uma|com|sem|até|il|lo|gli|senza|tra|[свиоуа]|без|до|после"
    r"|перед|между|на|với|bằng|ile|fixed:|bug:|error:)[ \t]+\Z",
    re.I,
)
PARTICLE = re.compile(
    # Korean particles (a space or mark follows), Japanese particles, Chinese function words: the sentence goes on about the marker.
    r"\A[ \t]?(?:(?:를|을|는|은|가|와|과|의|로|으로|도|만|에서|까지|부터|에|라는|이라는|라고|이라고|란|이란|처럼|보다|뒤|앞|다음|이후|이전|사이)(?=[\s,.、。)]|에|의|부터|까지|로)|이(?=[ \t](?:있|없|나|아|오|포|보|남|들|출"
    r"|붙|먼|두|여))"
    r"|を|が(?=[^んっ])|の(?!ち)|は(?![いじ])|とは|という|といっ|や(?!っ)|に(?:よ|続|は|な|含|到|達|囲)|で(?:囲|始|終|区|閉|挟|切)|から(?!お)|まで|も(?![ちしう])|と「|との|で(?=、)"
    r"|为界|為界|结尾|結尾|开头|開頭|之后|之後|之前|之间|之間|后面|前面|后(?=[，,才再])|前(?=[，,的])|来(?:表示|标|结|区|分)|的(?!确)|是(?!的|，|,)|等(?=[，。、标特])|再|则|时(?=[，,])|、|表示|代表|意味|属于|用于|用作|用来|用以|作为(?=结|开"
    r"|分)|会(?=被|导|让)|被)"
)
CJK_BEFORE = re.compile(
    r"(?:的|是|用|以|在|为|為|到|含|出|有|无|個|个|和|与|或|把|将|被|关于|關於|遇到|输出|包含|叫做|称为|例如|比如|即|예:|예를 들어|모델이|끝에|시작하는|같은|바로|と|は|が|に|、)[ \t]?\Z"
)
CJK_VERB = re.compile(
    r"출력|표시|제거|삭제|사용|포함|감싸|시작|끝나|남아|보이|나오|붙|닫|열|输出|輸出|显示|顯示|出现|出現|删除|去掉|移除|包含|使用|开头|结尾|切分|分割|匹配|查找|替换|残留|漏出|闭合|出力|表示|除去|削除|含ま|囲|終わ|始ま|検索|置換|残る|残っ|閉じ"
)
ENUMERATION = re.compile(
    # Between two markers of one enumeration or pair: "<a> and <b>", "<a>…<b>", "<a>.*?<b>", "<a>와 <b>". White space alone is none: an empty block is a leak.
    r"[ \t]*(?:(?:\\n){1,4}|\(?(?:\.|\[[^\]\n]{1,12}\])[*+]\??\)?|,|;|、|，|/|&|\+|->|→|–|—|\.{3}|…|·|(?:,[ \t]*)?(?:and|or|to|und|oder|bis|et|ou|à|y|o|e|hasta|и|или|до"
    r"|va|và|hoặc|ve|veya)\b(?:[ \t]+(?:the|a|das|dem|le|el))?"
    r"|와|과|및|또는|이나|나|하고|에서|부터|和|与|與|及|或|到|至|と|や|または|から|および)[ \t]*(?:[\"'`”“「」][ \t]*)?\Z"
)
COMMENT = re.compile(r"\A[ \t]*(?://|/\*)[ \t]")
BULLET = re.compile(r"\A[ \t]*(?:[-*+•·▪◦]|\d{1,3}[.)、]|[a-z][.)])[ \t]+(?:\*\*|__)?[ \t]*\Z")
DEFINES = re.compile(r"\A(?:\*\*|__)?(?:[ \t]*(?:[:：=→]|->|=>)[ \t]*\S|[ \t]+[-–—][ \t]+\S|[ \t]*[(（]|[ \t]*$)")
DEFINITION = re.compile(r"\A[ \t]*(?:[:：=→]|->|=>)[ \t]|\A[ \t]+[-–—][ \t]")
SETTING = re.compile(
    r"(?:\A[ \t]*(?:[-*] )?[\"']?[a-z][a-z0-9_.-]{1,40}[\"']?[ \t]*[:=][ \t]*|--?[a-z][\w-]{1,40}[ =]|\w=)\Z"
)  # a line of a configuration, a flag, an assignment
GOES_ON = re.compile(r"\A(?:[.,;:!?)]|[ \t][a-zà-ÿа-я])")

"""Mention or leak: does a marker stand in an answer because somebody talks about it?

A mention is a marker inside code, quotes, brackets or an escape; one that the sentence explains ("the `</think>` tag"); an entry of a list or table of
markers; an element that the request itself defined. Everything else is structure that should not have reached the reader. Each test looks at a bounded
window around the marker, so judging is linear in the text. Sources of the look-alikes: nesquena/hermes-webui#2152, HKUDS/nanobot#2623,
ModelEngine-Group/nexent#3689, rynfar/meridian#721, smg-project/smg#317, zai-org/GLM-4.5#4.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from detector.record import Record
from detector.signals.markers import Hit

WINDOW = 160  # characters to each side that decide; longer than any sentence part that explains a marker, short enough to stay linear

_FENCE = re.compile(r"^[ \t]{0,12}(?:>[ \t]?|[-*+] |\d{1,3}[.)] )?[ \t]{0,3}(`{3,}|~{3,})([^\n`]*)$", re.M)
_TICKS = re.compile(r"`+")
_INDENTED = re.compile(r"(?:^|\n)[ \t]*\n((?:(?: {4}|\t)[^\n]*(?:\n|$))+)")
_HTML_CODE = re.compile(r"<(code|pre|kbd|samp)\b[^<>\n]{0,80}>", re.I)

_QUOTES = {"“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "「": "」", "『": "』", "‘": "’", "《": "》", "〈": "〉", "〝": "〟", "【": "】", "（": "）", "(": ")"}
_OPENERS = "".join(_QUOTES)
_WRAPS = {"(": ")", "[": "]", "*": "*", "_": "_", "'": "'", '"': '"', "{": "}", "`": "`", "´": "´", "=": "=", "/": "/", "|": "|", "~": "~"}

# Between two markers of one enumeration or pair: "<a> and <b>", "<a>, <b>", "<a>…<b>", "<a>와 <b>". White space alone is no connector: an empty block is a leak.
_CONNECTOR = re.compile(
    r"[ \t]*(?:[.()\[\]\\\w^$|?*+-]{0,12}[*+][.()\[\]\\\w^$|?*+-]{0,12}|,|;|、|，|/|&|\+|->|→|–|—|\.{3}|…|·|(?:,[ \t]*)?(?:and|or|to|und|oder|bis|et|ou|à|y|o|e|hasta|и|или|до|va|và|hoặc|ve|veya)\b(?:[ \t]+(?:the|a|das|dem|le|el))?"
    r"|와|과|및|또는|이나|나|하고|에서|부터|和|与|與|及|或|到|至|、|と|や|または|から|および)[ \t]*(?:[\"'`”“「」][ \t]*)?\Z"
)

_NOUN = (
    r"(?:[Tt]ags?|[Tt]okens?|[Mm]arkers?|[Dd]elimiters?|[Ss]eparators?|[Ss]entinels?|[Ee]lements?|[Ss]equences?|[Ss]trings?|[Ss]ymbols?|[Ll]iterals?|[Pp]laceholders?|[Mm]arkup"
    r"|[Pp]airs?|[Bb]rackets?|[Ww]rappers?|[Hh]eaders?|[Tt]emplates?|[Tt]yped?|[Mm]arks?|[Bb]alises?|[Jj]etons?|[Mm]arqueurs?|[Ee]tiquetas?|[Mm]arcador(?:es)?|[Mm]arcas?|[Mm]arcator[ei]"
    r"|Markierung(?:en)?|Zeichen(?:folge|kette)?n?|Kennung(?:en)?|Trennzeichen|[Tt]oken[sn]?|[Тт]ег\w{0,3}|[Тт]окен\w{0,3}|[Мм]аркер\w{0,3}|[Сс]трок\w{0,3}|[Сс]имвол\w{0,3}|[Рр]азделител\w{0,3}|thẻ|ký hiệu|etiket\w{0,5}|belirteç\w{0,5}|etichett[ae])"
)
_NOUN_CJK = (
    r"(?:태그|토큰|마커|구분자|구분 기호|문자열|기호|표식|접두사|특수 ?문자|标签|標籤|标记|標記|令牌|符号|符號|分隔符|字符串|字串|词元|詞元|字符|タグ|トークン|マーカー|記号|文字列|区切り|目印|要素)"
)
_NOUN_BEFORE = re.compile(rf"(?:\b{_NOUN}\b(?:[ \t]+[\w.,'’-]{{1,14}}){{0,3}}[ \t]*[:：(,]?[ \t]*|{_NOUN_CJK}[^\n.。!?<>]{{0,10}})\Z")
_NOUN_AFTER = re.compile(rf"\A(?:[ \t-]{{1,2}}(?:[a-zà-ÿа-я]+[ \t]){{0,2}}{_NOUN}\b|[ \t]?[^\n.。!?<>]{{0,6}}{_NOUN_CJK})")

# Verbs that follow a marker when a sentence is about it; lower case, because an answer after a marker starts with a capital.
_SAYS = re.compile(
    r"\A[ \t]+(?:is|are|was|were|means?|marks?|signals?|denotes?|indicates?|tells?|appears?|appeared|shows?|should|must|can|cannot|will|would|may|might|ends?|starts?|begins?|closes?|opens?|separates?"
    r"|comes?|gets?|got|has|had|does|never|always|stands?|leaks?|leaked|belongs?|wraps?|in|inside|at|from|into|when|if|before|after|ist|sind|bedeutet|markiert|steht|beendet|wird|est|sont|marque|signifie"
    r"|indique|es|son|significa|indica|marca|è|sono|é|são|означает|это|là|оkончает)\b"
)
_DETERMINER = re.compile(
    r"(?:^|[\s(])(?:the|an?|this|that|these|any|no|each|every|stray|literal|closing|opening|end|start|stop|raw|first|last|second|missing|unclosed|orphan|trailing|leading|with|without|by|after|before|until"
    r"|between|inside|within|contain(?:s|ing)?|emit(?:s|ted|ting)?|outputs?|prints?|printed|writes?|adds?|appends?|inserts?|strips?|removes?|removing|sees?|finds?|match(?:es)?|use[sd]?|using|called|named|means|is|are"
    r"|like|as|and|or|of|for|from|to|on|in|into|saw|expects?|replace|replaces|type|via|e\.g\.,?|i\.e\.,?|der|die|das|ein|eine|den|dem|mit|ohne|nach|vor|bis|zwischen|und|von|le|la|les|un|une|avec|sans|après|avant|entre|par|de"
    r"|el|los|las|una|con|sin|hasta|por|os?|as|um|uma|com|sem|até|il|lo|gli|senza|tra|[свиоуа]|без|до|после|перед|между|на|với|bằng|ile)[ \t]+\Z",
    re.I,
)
_ABOUT = re.compile(
    rf"(?i:tokeni[sz]er|chat ?template|parser|chatml|prompt|special token|stop token|end token|reasoning|fine-?tun|control token|\btokens?\b|\btags?\b|\bmarkers?\b|\bdelimiters?\b|\bBOS\b|\bEOS\b|regex|vocab|\bleak|\bv?LLMs?\b|SGLang|llama\.cpp|\bMTP\b|speculative|stream(?:ed|ing)|detokeni|</?think|\[/?THINK|im_(?:start|end)|endoftext|eot_id)|{_NOUN_CJK}|템플릿|파서|프롬프트|模板|解析|提示词|テンプレート|パーサ|プロンプト"
)

_PARTICLE = re.compile(
    # Korean particles (a space or mark follows), Japanese particles, Chinese function words: the sentence goes on about the marker.
    r"\A[ \t]?(?:(?:를|을|는|은|가|와|과|의|로|으로|도|만|에서|까지|부터|에|라는|이라는|라고|이라고|란|이란|처럼|보다|뒤|앞|다음|이후|이전|사이)(?=[\s,.、。)]|에|의|부터|까지|로)|이(?=[ \t](?:있|없|나|아|오|포|보|남|들|출|붙|먼|두|여))"
    r"|を|が(?=[^んっ])|の(?!ち)|は(?![いじ])|とは|という|といっ|や(?!っ)|に(?:よ|続|は|な|含|到|達|囲)|で(?:囲|始|終|区|閉|挟|切)|から(?!お)|まで|も(?![ちしう])|と「|との|で(?=、)"
    r"|为界|為界|结尾|結尾|开头|開頭|之后|之後|之前|之间|之間|后面|前面|后(?=[，,才再])|前(?=[，,的])|来(?:表示|标|结|区|分)|的(?!确)|是(?!的|，|,)|等(?=[，。、标特])|、|表示|代表|意味|属于|用于|作为(?=结|开|分)|会(?=被|导|让)|被)"
)
_CJK_BEFORE = re.compile(r"(?:的|是|用|以|在|为|為|到|含|出|有|无|個|个|和|与|或|把|将|被|遇到|输出|包含|叫做|称为|例如|比如|即|예:|예를 들어|모델이|끝에|시작하는|같은|바로|と|は|が|に|、)[ \t]\Z")

_BULLET = re.compile(r"\A[ \t]*(?:[-*+•·▪◦]|\d{1,3}[.)、]|[a-z][.)])[ \t]+(?:\*\*|__)?[ \t]*\Z")
_DEFINES = re.compile(r"\A(?:\*\*|__)?(?:[ \t]*(?:[:：=→]|->|=>)[ \t]*\S|[ \t]+[-–—][ \t]+\S|[ \t]*[(（]|[ \t]*$)")
_SENTENCE_END = ".!?。！？…\n)）]』」”\""


class Surroundings:
    """A text in which markers were found, with its code spans; made once per text."""

    __slots__ = ("_about", "_ends", "_open_fence", "_starts", "hits", "text")

    def __init__(self, text: str, hits: list[Hit]) -> None:
        self.text = text
        self.hits = hits
        spans, self._open_fence = code_spans(text)
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]
        self._about: bool | None = None

    def in_code(self, at: int) -> bool:
        """Inside fenced, inline, indented or HTML code."""
        place = bisect_right(self._starts, at) - 1
        return place >= 0 and at < self._ends[place]

    def in_open_fence(self, at: int) -> bool:
        """After the beginning of a fence that nothing closes."""
        return at >= self._open_fence

    def is_about_markers(self) -> bool:
        """The text, without its markers, speaks of tokens, tags or templates somewhere."""
        if self._about is None:
            rest, at = [], 0
            for hit in self.hits:
                rest.append(self.text[at : hit.start])
                at = hit.end
            rest.append(self.text[at:])
            self._about = _ABOUT.search("\0".join(rest)) is not None
        return self._about

    def is_mention(self, index: int) -> bool:
        """True when `hits[index]` is talked about."""
        hit = self.hits[index]
        text = self.text
        if self.in_code(hit.start) or (hit.start > 0 and text[hit.start - 1] == "\\"):
            return True
        first, last = self._run(index)
        start, end = self.hits[first].start, self.hits[last].end
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end
        before = text[max(line_start, start - WINDOW) : start]
        after = text[end : min(line_end, end + WINDOW)]
        if _wrapped(before, after) or _quoted(before, after):
            return True
        if _BULLET.match(before) and _DEFINES.match(after) and start - line_start < WINDOW:
            return True
        if self._in_table(line_start, line_end, start, end):
            return True
        if not before.strip() and after.strip() and re.match(r"\A[ \t]*(?:[:：=→]|->|=>)[ \t]|\A[ \t]+[-–—][ \t]", after):
            return True  # a line of a list of definitions
        if last > first and (before.strip() or after.strip()) and not self._is_block(first, last):
            return True
        if self._listed(line_start, line_end, before, after):
            return True
        glued = bool(before) and not before[-1].isspace()
        ends_line = not after.strip()
        if _PARTICLE.match(after) and not (glued and before[-1] in _SENTENCE_END):
            return True
        if _NOUN_AFTER.match(after) and not (glued and before[-1] in _SENTENCE_END):
            return True
        if not glued and before.strip() and _NOUN_BEFORE.search(before) and (not ends_line or self._closes_text(line_end)):
            return True
        if not glued and _SAYS.match(after):
            return True
        if glued or not before.strip() or ends_line:
            return False
        if _DETERMINER.search(before) or _CJK_BEFORE.search(before):
            return self.is_about_markers()
        return bool(re.match(r"\A(?:[.,;:!?)]|[ \t][a-zà-ÿа-я])", after)) and self.is_about_markers()

    def _run(self, index: int) -> tuple[int, int]:
        """First and last hit of the enumeration or pair that a hit belongs to."""
        first = last = index
        while first > 0 and index - first < 12 and self._connected(first - 1):
            first -= 1
        while last + 1 < len(self.hits) and last - index < 12 and self._connected(last):
            last += 1
        return first, last

    def _connected(self, left: int) -> bool:
        one, other = self.hits[left], self.hits[left + 1]
        if other.start - one.end > 16 or other.start < one.end:
            return False
        return _CONNECTOR.match(self.text, one.end, other.start) is not None

    def _is_block(self, first: int, last: int) -> bool:
        """Markers joined by a mere ellipsis at the very start of the text: a block whose thinking was "...", not an enumeration."""
        return self.text[: self.hits[first].start].strip() == "" and all("..." in self.text[self.hits[i].end : self.hits[i + 1].start] for i in range(first, last))

    def _in_table(self, line_start: int, line_end: int, start: int, end: int) -> bool:
        if line_end - line_start > 2000:
            return False
        rest = self.text[line_start:start] + "\0" + self.text[end:line_end]
        rest = re.sub(r"<[|｜][^<>]{1,40}[|｜]>", "", rest)
        cells = rest.count("|")
        return cells >= 2 and rest.lstrip().startswith("|")

    def _listed(self, line_start: int, line_end: int, before: str, after: str) -> bool:
        """A line that holds nothing but this marker, below an introduction that ends in a colon (other such lines may stand between)."""
        if before.strip() or after.strip():
            return False
        at, lines = line_start, 0
        while at > 0 and lines < 20:
            previous = self.text.rfind("\n", 0, at - 1) + 1
            line = self.text[max(previous, at - 1 - WINDOW) : at - 1].rstrip()
            if line.endswith((":", "：")):
                return _NOUN_ANY.search(line) is not None or self.text[line_end:].strip() != "" and lines > 0 and _ABOUT.search(line) is not None
            if line and not any(hit.start >= previous and hit.end <= at - 1 and hit.end - hit.start >= len(line.strip()) for hit in self._near(previous)):
                return False
            at, lines = previous, lines + 1
        return False

    def _near(self, start: int) -> list[Hit]:
        place = bisect_right([hit.start for hit in self.hits[:64]], start - 1)
        return self.hits[place : place + 3]

    def _closes_text(self, line_end: int) -> bool:
        return not self.text[line_end:].strip()


_NOUN_ANY = re.compile(rf"\b{_NOUN}\b|{_NOUN_CJK}")


def code_spans(text: str) -> tuple[list[tuple[int, int]], int]:
    """Half-open spans of fenced blocks, inline code, indented blocks and HTML code elements, sorted and disjoint; and where a fence begins that nothing
    closes (the text's length where there is none): it runs to the end."""
    spans: list[tuple[int, int]] = []
    at = 0
    opened: tuple[int, str] | None = None
    if "```" in text or "~~~" in text:
        for match in _FENCE.finditer(text):
            fence = match.group(1)
            if opened is None:
                opened = (match.start(), fence)
            elif fence[0] == opened[1][0] and len(fence) >= len(opened[1]) and not match.group(2).strip():
                spans.append((opened[0], match.end()))
                opened = None
        if opened is not None:
            spans.append((opened[0], len(text)))
    if "`" in text:
        fenced = [*spans, (len(text), len(text))]
        inline: list[tuple[int, int]] = []
        for begin, end in fenced:
            inline.extend(_inline(text, at, begin))
            at = end
        spans.extend(inline)
    if "\n    " in text or "\n\t" in text:
        spans.extend(match.span(1) for match in _INDENTED.finditer(text))
    lowered = None
    if "<" in text:
        for match in _HTML_CODE.finditer(text):
            lowered = text.lower() if lowered is None else lowered
            end = lowered.find(f"</{match.group(1).lower()}>", match.end())
            if end >= 0:
                spans.append((match.start(), end))
            if len(spans) > 2000:
                break
    return _merged(spans), len(text) if opened is None else opened[0]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    spans.sort()
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _inline(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Inline code between two places: a run of backticks closed by a run of equal length on the same line.

    CommonMark (6.1) lets it span lines of a paragraph; an answer that loses a backtick must not hide a marker that stands on its own line."""
    found: list[tuple[int, int]] = []
    waiting: dict[int, int] = {}
    last = begin
    for match in _TICKS.finditer(text, begin, end):
        if "\n" in text[last : match.start()]:
            waiting.clear()
        size = match.end() - match.start()
        opener = waiting.get(size)
        if opener is None:
            waiting[size] = match.start()
        else:
            found.append((opener, match.end()))
            waiting.clear()
        last = match.end()
    return found


def _wrapped(before: str, after: str) -> bool:
    """The marker stands directly inside a pair of quotes, brackets or emphasis."""
    left, right = before.rstrip(" \t")[-1:], after.lstrip(" \t")[:1]
    if not left or not right:
        return False
    closing = _QUOTES.get(left) or _WRAPS.get(left)
    return closing is not None and right in closing


def _quoted(before: str, after: str) -> bool:
    """The marker stands inside a longer quotation or bracket on its line."""
    for opener, closers in _QUOTES.items():
        at = before.rfind(opener)
        if at >= 0 and not any(closer in before[at + 1 :] for closer in closers) and any(closer in after for closer in closers):
            return True
    if before.count('"') % 2 == 1 and '"' in after:
        return True
    opened = [match.start() for match in re.finditer(r"(?:(?<=\W)|^)'(?=\S)", before)]
    closed_left = len(re.findall(r"'(?=\W|$)", before[opened[-1] + 1 :])) if opened else 1
    return bool(opened) and closed_left == 0 and re.search(r"(?<=\S)'(?=\W|$)|^'", after) is not None


_ASKS = re.compile(
    r"(?i)\b(?:use|using|wrap|wrapped|put|write|respond|reply|answer (?:in|with|inside)|return|enclose[d]?|surround|format|emit|start with|begin with|end with|generate|include|insert|print|show|repeat|echo|give|copy|quote"
    r"|convert|translate|fix|complete|continue|edit|rewrite|refactor|add|keep|preserve|xml|inside|within|verwende|schreibe|setze|antworte|gib|utilise[rz]?|écri[st]|mets|usa|escribe|pon|devuelve|scrivi|используй|напиши)\b"
    r"|사용|감싸|넣어|작성|출력해|써 ?줘|형식|적어|반복|그대로|用|使用|放在|包裹|写|寫|输出|輸出|格式|重复|囲|使って|出力|書い|形式|繰り返"
)
_TEMPLATE_TALK = re.compile(r"(?i)chat ?ml|chat ?template|special tokens?|control tokens?|prompt (?:template|format)|tokeni[sz]er|stop tokens?|\b[BE]OS\b|챗 ?템플릿|특수 ?토큰|聊天模板|特殊标记|特殊符|チャットテンプレート|特殊トークン")
_NATIVE = re.compile(r"(?i)\A(?:[<\[◁]/?(?:mm:|seed:)?think[>\]▷]|<[|｜])")


def requested(record: Record, literal: str) -> bool:
    """The request itself asked for this marker: it named it in a demand, or set it as a stop string.

    A user who merely mentions a marker does not ask for it (vllm-project/vllm#46042: the marker in the prompt is what confuses the parser). A system
    prompt that demands an engine's own tag does not excuse it either: the reasoning parser should have taken it out.
    """
    bare = literal.strip().lower().replace("/", "").replace(" ", "")
    if record.stop and any(bare in stop.lower().replace("/", "") for stop in record.stop if stop):
        return True
    if _demands(record.user_text, bare):
        return True
    return _NATIVE.match(literal) is None and _demands(record.system_text, bare)


def speaks_of_templates(record: Record) -> bool:
    """The user asked about chat templates or special tokens, so that an answer may spell them out."""
    return record.user_text is not None and _TEMPLATE_TALK.search(record.user_text) is not None


def names_marker(record: Record, literal: str) -> bool:
    """The user's own text holds this marker."""
    return record.user_text is not None and literal.strip().lower() in record.user_text.lower()


def _demands(text: str | None, bare: str) -> bool:
    if not text:
        return False
    lowered = text.lower().replace("/", "").replace(" ", "") if bare not in text.lower() else text.lower()
    if bare in lowered:
        return _ASKS.search(text) is not None
    name = bare.strip("<>[]|◁▷{}")
    return len(name) >= 4 and re.search(rf"(?i)\b{re.escape(name)}\b[ -]?(?:xml )?(?:tags?|elements?|blocks?|태그|标签|タグ)", text) is not None and _ASKS.search(text) is not None

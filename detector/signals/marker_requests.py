"""Did the request itself ask for a marker? User-defined elements (rynfar/meridian#721) are no leak."""

from __future__ import annotations

import re

from detector.record import Record

_ASKS = re.compile(
    r"(?i)\b(?:use|using|wrap|wrapped|put|write|respond|reply|answer (?:in|with|inside|as)|return|enclosed?|surround|format|emit|"
    r"output (?:exactly|only|this|the following)|start with|begin with"
    r"|end with|generate|include|insert|print|show|repeat|echo|give|copy|quote"
    r"|convert|translate|fix|complete|continue|edit|rewrite|refactor|add|keep|preserve|xml|inside|within|verwende|schreibe|setze|antworte|gib|utilise[rz]?"
    r"|écri[st]|mets|usa|escribe|pon|devuelve|scrivi|используй|напиши)\b"
    r"|사용|감싸|넣어|넣고|쓰고|작성|출력해|써 ?줘|형식|적어|적고|반복|그대로"
    r"|用|使用|放在|包裹|写|寫|输出|輸出|格式|重复|囲|使って|出力|書い|形式|繰り返"
)
_TEMPLATE_TALK = re.compile(
    r"(?i)chat ?ml|chat ?template|special tokens?|control tokens?|prompt (?:template|format)|tokeni[sz]er|stop tokens?|\b[BE]OS\b"
    r"|챗 ?템플릿|특수 ?토큰|聊天模板|特殊标记"
    r"|特殊符|チャットテンプレート|特殊トークン"
)
_NATIVE = re.compile(r"(?i)\A(?:[<\[◁]/?(?:mm:|seed:)?think[>\]▷]|<[|｜])")


def requested(record: Record, literal: str) -> bool:
    """The request named this marker in a demand.

    A user who merely mentions a marker does not ask for it (vllm-project/vllm#46042: the marker in the prompt is what confuses the parser). A system
    prompt that demands an engine's own tag does not excuse it either: the reasoning parser should have taken it out.
    """
    bare = _bare(literal)
    return _demands(record.user_text, bare) or (_NATIVE.match(literal) is None and _demands(record.system_text, bare))


def is_stop_string(record: Record, literal: str) -> bool:
    """The request set this marker as a stop string, which the answer may then end with."""
    return record.stop is not None and literal.strip() in record.stop


def speaks_of_templates(record: Record) -> bool:
    """The user asked about chat templates or special tokens, so that an answer may spell them out."""
    return record.user_text is not None and _TEMPLATE_TALK.search(record.user_text) is not None


def names_marker(record: Record, literal: str) -> bool:
    """The user's own text holds this marker."""
    return record.user_text is not None and literal.strip().lower() in record.user_text.lower()


def _bare(literal: str) -> str:
    return literal.strip().lower().replace("/", "").replace(" ", "")


def _demands(text: str | None, bare: str) -> bool:
    """The text demands the marker; its name is looked for first, which is cheap and seldom there."""
    if not text:
        return False
    lowered = text.lower()
    name = bare.strip("<>[]|◁▷{}")
    literal = bare in lowered or bare in lowered.replace("/", "").replace(" ", "")
    if not (literal or (len(name) >= 4 and name in lowered)) or _ASKS.search(text) is None:
        return False
    return literal or re.search(rf"\b{re.escape(name)}\b[ -]?(?:xml )?(?:tags?|elements?|blocks?|태그|标签|タグ)", lowered) is not None

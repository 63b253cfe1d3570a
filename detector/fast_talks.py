"""The turns of a request as the fast path reads them: only the last roles and what was asked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from detector.formats.openai_request import conversation, system_text
from detector.formats.values import decoded


class _Turn(msgspec.Struct, gc=False):
    role: str
    content: str


_TURNS = msgspec.json.Decoder(list[_Turn])


class Talks(dict[int, list[_Turn] | tuple[str | None, str | None, str | None]]):
    """Row -> its conversation's turns, read once and only when asked for; where their contents are no texts, what `openai_request` makes of them."""

    def __init__(self, raw: Sequence[msgspec.Raw]) -> None:
        super().__init__()
        self._raw = raw

    def __missing__(self, row: int) -> list[_Turn] | tuple[str | None, str | None, str | None]:
        found: list[_Turn] | tuple[str | None, str | None, str | None]
        try:
            found = _TURNS.decode(self._raw[row])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            found = []
        if not found:  # contents in parts, tool turns without text, no list at all …
            held = bytes(self._raw[row])
            request = {"messages": decoded(held)} if held else {}
            found = (*conversation(request), system_text(request))
        self[row] = found
        return found

    def last_role(self, row: int) -> str | None:
        turns = self[row]
        return turns[0] if turns.__class__ is tuple else turns[-1].role  # type: ignore[union-attr]

    def user_text(self, row: int) -> str | None:
        """Text of the last user turn."""
        turns = self[row]
        if turns.__class__ is tuple:
            return turns[1]
        for turn in reversed(turns):
            if turn.role == "user":  # type: ignore[union-attr]
                return turn.content  # type: ignore[union-attr]
        return None

    def system_text(self, row: int) -> str | None:
        """Texts of system and developer turns."""
        turns = self[row]
        if turns.__class__ is tuple:
            return turns[2]
        return "\n".join(turn.content for turn in turns if turn.content and turn.role in ("system", "developer")) or None  # type: ignore[union-attr]

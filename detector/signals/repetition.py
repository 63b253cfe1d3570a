"""`repetition`: the answer or its reasoning goes round and round.

Where `detector.loops` measures a stretch that repeats itself, `detector.signals.structure` has the last word: data, code, songs and requested
repetition are no fault. A reason names offsets, copies and lengths; the repeated text itself is only given by `excerpt`, which callers use where an
operator opted in to content.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where
from detector.signals.structure import Suspect, excuse
from detector.signals.text_units import collapsed, most_copies, units

MASS4 = 160  # bytes in grams seen three times before; smallest value without a false alarm in prose of four languages
MASS3 = 800  # bytes in grams seen twice before: long blocks with few copies
RUN, RUN_COPIES = 300, 1.8  # bytes that equal the byte a period before, and further copies that they span
BLOCK_COPIES = 1.35  # further copies where they are exact and reach the end: a text shown twice has 1.0
CUT_RUN, CUT_COPIES = 32, 2.5  # exact repeats at the end of an answer that was cut off: bytes and further copies
BLANK_RUN = 80  # bytes of white space: aligned code that was cut off has fewer
TAIL_CHARACTERS = 20  # nine emoji are 36 bytes, and no loop
OPEN_RUN, OPEN_COPIES = 90, 2.9  # the same where the log does not say how the answer ended
FEW = 8  # different bytes: at most this many inside a text are taken for arrays and rulers
THINKING_OPENERS = ("<think", "<|think", "[think", "<seed:think", "<mm:think", "\u25c1think", "<reasoning", "<|channel", "analysis")


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that nothing excuses: offsets, period and copies in characters of the text of `where` (content or reasoning)."""

    where: str
    start: int
    end: int
    period: int
    copies: float
    subtype: str


def _suspects(text: str, cut: bool | None, thinking: bool) -> Iterable[Suspect]:
    """Stretches that repeat themselves, surest first; windows from the text's end to its beginning."""
    from detector import loop_gate, loops  # numba: imported when the first text is judged

    space = loops.thread_workspace()
    raw = text.encode("utf-8", "surrogatepass")
    size = len(raw)
    buffer = np.frombuffer(raw + bytes(128), np.uint8)
    if not loop_gate.suspicious(buffer, 0, size, *space):
        return

    def suspect(start: int, end: int, period: int, copies: float, exact: bool) -> Suspect:
        start_char = len(raw[:start].decode("utf-8", "ignore"))
        body = raw[start:end].decode("utf-8", "ignore")
        period_chars = len(raw[start : start + period].decode("utf-8", "ignore"))
        at_end = end >= size - max(64, period)
        copies = copies or most_copies(text)
        return Suspect(text, start_char, start_char + len(body), period_chars, copies, exact, at_end, (end - start) / size, cut, thinking)

    trimmed = len(raw.rstrip())
    for stop in {size: 0, trimmed: 0}:
        period, run = loops.tail_period(buffer, 0, stop, loops.TAIL_PERIOD)
        needed, needed_copies = (CUT_RUN, CUT_COPIES) if cut else (OPEN_RUN, OPEN_COPIES) if cut is None else (MASS4, OPEN_COPIES)
        if period and not raw[stop - period : stop].strip():
            needed = max(needed, BLANK_RUN)
        if period and run >= needed and run >= needed_copies * period and len(raw[stop - run - period : stop].decode("utf-8", "ignore")) >= TAIL_CHARACTERS:
            yield suspect(stop - run - period, stop, period, run / period + 1, True)
    last = size
    while last > 0:
        first = max(0, last - loops.WINDOW)
        found = loops.measure(buffer, first, last, *space[:3]).tolist()
        mass4, start4, end4, mass3, start3, end3, run, lag, run_start, run_end = found

        def weight(mass: int, start: int, end: int, reach: int) -> float:
            at_end = end >= size - 64 - reach
            value = float(mass)
            if not at_end and mass < 0.5 * size and len(set(raw[start:end])) <= FEW:
                value *= 0.05
            return value * 0.5 if not at_end and mass < 0.35 * size else value

        exact = run >= 0.98 * (run_end - run_start)
        needed_copies = BLOCK_COPIES if exact and run_end >= size - 8 else RUN_COPIES
        if lag and run / lag >= needed_copies and weight(run, run_start, run_end, lag) >= RUN:
            yield suspect(max(first, run_start - lag), run_end, lag, run / lag + 1, exact)
        if mass4 and weight(mass4, start4, end4, 0) > MASS4:
            yield suspect(start4, end4, 0, 0.0, False)
        elif mass3 and weight(mass3, start3, end3, 0) > MASS3:
            yield suspect(start3, end3, 0, 0.0, False)
        if first == 0:
            break
        last = first + loops.OVERLAP


def find_loop(record: Record) -> Loop | None:
    """The loop in content, else in reasoning, that structure does not excuse; None where there is none."""
    cut = _cut(record)
    for where, text in (("content", record.content), ("reasoning", record.reasoning)):
        if not text or len(text) < 16:
            continue
        thinking = where == "reasoning" or text[:64].lstrip().lower().startswith(THINKING_OPENERS)
        for suspect in _suspects(text, cut, thinking):
            if excuse(suspect, record) is None:
                return Loop(where, suspect.start, suspect.end, suspect.period, suspect.copies, _subtype(suspect))
    return None


def _cut(record: Record) -> bool | None:
    """Was generation or its log cut off? None where nothing says so."""
    if record.content_state == "truncated" or record.finish_reason in ("length", "abort", "error", "repetition") or record.stream_done is False:
        return True
    if record.finish_reason is None or record.finish_reason == "unknown":
        return None
    return bool(record.max_tokens and record.completion_tokens and record.completion_tokens >= record.max_tokens)


def _subtype(suspect: Suspect) -> str:
    body = suspect.body
    if not body.strip():
        return "whitespace_run"
    if not suspect.exact:
        parts = units(body)
        if len(set(parts)) > len(parts) // 2 and len(set(map(collapsed, parts))) <= len(parts) // 2:
            return "counter_loop"
        if not suspect.period:
            return "near_loop"
    unit = body[: suspect.period]
    if len(unit) <= 12:
        return "token_loop"
    if unit.count("\n") > 1 or len(unit) > 300:
        return "block_loop"
    if "\n" in unit:
        return "line_loop"
    return "sentence_loop" if any(mark in unit for mark in ".!?。！？") else "phrase_loop"


def excerpt(record: Record, limit: int = 120) -> str | None:
    """One period of the loop, at most `limit` characters: content, for operators who opted in to see it."""
    loop = find_loop(record)
    if loop is None:
        return None
    text = record.content if loop.where == "content" else record.reasoning
    return (text or "")[loop.start : loop.start + min(limit, loop.period or limit)]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags a loop in content or reasoning, and an answer that the engine's own loop detector stopped."""
    from detector.signals.request_words import asks_for_repetition

    loop = find_loop(record)
    stopped = record.finish_reason == "repetition" or record.stop_reason == "repetition_detected"
    if stopped and not asks_for_repetition(record.user_text or ""):
        return Flag("engine_stopped", "the engine's own repetition detection stopped the answer")
    if loop is None:
        return None
    subtype = "in_reasoning" if loop.where == "reasoning" else loop.subtype
    length = f"of {loop.period} characters " if loop.period else ""
    copies = f"about {loop.copies:.0f} copies {length}" if loop.period else "the same parts in changing order "
    return Flag(subtype, f"{loop.where} from character {loop.start} to {loop.end}: {copies}({loop.subtype})")


def observable(record: Record) -> bool:
    """There is text to look at, or the engine says that it stopped a loop."""
    return bool(record.content or record.reasoning) or record.finish_reason == "repetition"


def observable_rows(batch: Batch) -> list[bool]:
    """`observable` for every row: where the content shows something there is no need to look."""
    contents, thoughts, reasons = (batch.column(name) for name in ("content", "reasoning", "finish_reason"))
    found: list[bool] = (~batch.text.blank).tolist()
    for row in batch.text.blank.nonzero()[0].tolist():
        found[row] = bool(contents[row] or thoughts[row]) or reasons[row] == "repetition"
    return found


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows whose text may loop, and rows that the engine stopped."""
    rows = batch.text.loop.copy()
    for name, value in (("finish_reason", "repetition"), ("stop_reason", "repetition_detected")):
        if batch.knows(name):
            rows |= np.fromiter((cell == value for cell in batch.column(name)), np.bool_, batch.size)
    return [int(row) for row in np.flatnonzero(rows)]


SIGNAL = Signal(
    name="repetition",
    subtypes={
        "token_loop": "a token or word of up to 12 characters again and again",
        "phrase_loop": "a phrase again and again",
        "sentence_loop": "a sentence again and again",
        "line_loop": "a line or row again and again",
        "block_loop": "a paragraph or several lines again and again",
        "counter_loop": "the same text again and again with a number that counts",
        "near_loop": "the same few sentences in changing order or with changing openers",
        "whitespace_run": "white space without end",
        "in_reasoning": "the loop is in the reasoning, not in the answer",
        "engine_stopped": "the engine's own repetition detection ended the answer",
    },
    needs=("content", "reasoning"),
    observable=observable,
    judge=judge,
    candidates=candidates,
    observable_rows=observable_rows,
    push_down=PushDown(candidates=((Where("content", "exists"),), (Where("reasoning", "exists"),), (Where("finish_reason", "in", ("repetition",)),))),
)

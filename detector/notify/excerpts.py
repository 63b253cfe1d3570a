"""Masked excerpts of answers (`privacy.content: masked`): read again from the source for the few example requests of a new incident.

What is kept is the shape: short function words, punctuation, template markers and line breaks. Every other letter becomes `x` (or `○` outside the Latin
script), every digit `0`, every address `‹address›`. A name that is also a function word is the price; nothing else of a text survives.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from detector.config import Settings
from detector.errors import DetectorError
from detector.incidents import Incident

if TYPE_CHECKING:
    from detector.record import Record

MOST_REQUESTS = 5
LONGEST = 400  # characters of an excerpt
LARGEST_FILE = 256 << 20  # bytes of a log that is read again for an excerpt; a larger one takes longer than a message may wait
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|www\.)\S+|\S+@\S+|(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{1,4}:){3,}[0-9a-f:]*|(?:/[\w.~-]+){2,}|[\w-]+(?:\.[\w-]+)+", re.IGNORECASE
)
_MARKERS = frozenset(
    """think thinking thought thoughts reasoning analysis final channel message start end return tool_call tool_calls tool_response function im_start im_end
    endoftext eot_id eom_id start_header_id end_header_id begin_of_text end_of_text assistant user system pad unk bos eos s""".split()  # noqa: SIM905
)
_MARKER = re.compile(r"<[/|｜]{0,2}([A-Za-z_▁]{1,24})[|｜]?>|\[/?(INST|TOOL_CALLS|THINK)\]")
_WORDS = frozenset(
    """a about after all also am an and any are as at be been before being but by can could did do does each even first for from get had has have how i if in
    into is it its just made make may me more most must my new no not now of on one only or other our out over say see she should so some such than that the
    their them then there these they this those through to two up us use used very was way we were what when where which while who why will with would yes you
    your he him her his""".split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?", re.UNICODE)


def masked(text: str) -> str:
    """The shape of a text. At most LONGEST characters, around its first template marker or else its two ends."""
    shown = _ends(text)
    out: list[str] = []
    at = 0
    for marker in _MARKER.finditer(shown):
        if (marker[1] or "").replace("▁", "_").lower() in _MARKERS or marker[2]:
            out += [_veiled(shown[at : marker.start()]), marker[0]]
            at = marker.end()
    return "".join([*out, _veiled(shown[at:])])[: LONGEST + 20]


def _ends(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    marker = _MARKER.search(text)
    if marker is not None:
        start = max(0, marker.start() - LONGEST // 2)
        return f"{'… ' if start else ''}{text[start : start + LONGEST]}{' …' if start + LONGEST < len(text) else ''}"
    return f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def _veiled(text: str) -> str:
    parts: list[str] = []
    at = 0
    for address in _ADDRESS.finditer(text):
        parts += [_letters(text[at : address.start()]), "‹address›"]
        at = address.end()
    return "".join([*parts, _letters(text[at:])])


def _letters(text: str) -> str:
    return re.sub(r"\d", "0", _WORD.sub(lambda word: word[0] if word[0].lower() in _WORDS and not word[0].isupper() else _blank(word[0]), text))


def _blank(word: str) -> str:
    return "".join("x" if char < "\u0250" else "○" for char in word)


class Excerpts:
    """Excerpts of an incident's example requests, by request id; each incident is looked up once. Trouble gives no excerpt, never a failed run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, int], dict[str, str]] = {}

    def __call__(self, incident: Incident) -> dict[str, str]:
        """Request id -> masked text; empty where it can't be had."""
        key = (incident.id, incident.opened)
        if key not in self._known:
            self._known = {key: self._found(incident)}
        return self._known[key]

    def _found(self, incident: Incident) -> dict[str, str]:
        places: dict[str, set[str]] = defaultdict(set)
        for index, place in [place for finding in incident.findings for place in finding.doc_ids][:MOST_REQUESTS]:
            places[index].add(place)
        found: dict[str, str] = {}
        for index, wanted in places.items():
            try:
                for record in self._records(index, wanted):
                    text = record.content or record.reasoning
                    if text:
                        found[record.request_id or record.doc_id or ""] = masked(text)
            except (DetectorError, OSError):
                continue  # the message goes out without it
        return found

    def _records(self, index: str, wanted: set[str]) -> Iterator[Record]:
        path = Path(index)
        if path.is_file():
            if path.stat().st_size <= LARGEST_FILE:
                yield from self._in_file(index, wanted)
        elif self._settings.source.url or self._settings.source.cloud_id:
            yield from self._in_cluster(index, wanted)

    def _in_file(self, path: str, wanted: set[str]) -> Iterator[Record]:
        from detector.reading import ReadingOptions
        from detector.sources.base import Tally
        from detector.sources.files import Files

        source = self._settings.source
        left = set(wanted)
        for batch in Files([path], ReadingOptions(source.format, source.mapping, source.timezone)).batches(Tally()):
            places = batch.column("doc_id")
            rows = [row for row in range(batch.size) if places[row] in left]
            for row in rows:
                left.discard(places[row])
                yield batch.record(row)
            if not left:
                return

    def _in_cluster(self, index: str, wanted: Iterable[str]) -> Iterator[Record]:
        from detector.reading import ReadingOptions
        from detector.sources.base import Tally
        from detector.sources.es_cluster import open_cluster
        from detector.sources.es_connection import connection
        from detector.sources.es_hits import records_of

        source = self._settings.source
        with closing(open_cluster(connection(source, self._settings.secrets), index)) as cluster:
            body = {"query": {"ids": {"values": sorted(wanted)}}, "size": MOST_REQUESTS}
            hits = cluster.search(body, what="example requests")["hits"]["hits"]
            yield from records_of(hits, ReadingOptions(source.format, source.mapping, source.timezone), Tally())

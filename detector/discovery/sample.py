"""A sample of a log: its first documents as the formats see them, or the newest documents of an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from detector.formats.base import Document, Format, Rejected, formats
from detector.formats.reader import NO_LOG_LINE, OTHER_DOCUMENT, OTHER_LOG_DOCUMENT, Reader
from detector.formats.values import decoded
from detector.record import Record

if TYPE_CHECKING:
    from detector.config import Settings
    from detector.settings.source import ColumnMapping

FILES = 20  # files of a folder that are looked at
PER_FILE = 400  # documents of each


@dataclass
class Sample:
    """What was read.

    Args:
        documents: number of documents looked at (lines, hits).
        records: what the formats, or a mapping, made of them.
        formats: documents per format; `evidence`: why, by format.
        rejected: documents that gave no record, by reason; `ignored` of them are no answers.
        objects: documents that are JSON objects and that no format knows, for a mapping.
    """

    documents: int = 0
    records: list[Record] = field(default_factory=list)
    formats: Counter[str] = field(default_factory=Counter)
    evidence: dict[str, str] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    ignored: int = 0
    objects: list[dict[str, Any]] = field(default_factory=list)

    @property
    def shows_no_answer(self) -> bool:
        """Documents were recognised by what was asked and when alone: their answers stand where no format looks."""
        return {*self.formats} == {"envelope"} and not any(
            record.content_state != "not_captured" or record.finish_reason or record.status_code is not None or record.error_type for record in self.records
        )

    @property
    def is_unknown(self) -> bool:
        """Most documents are objects that no format knows."""
        return len(self.objects) > self.documents / 2


def sample_files(paths: list[str], asked: Sequence[Format] | None = None) -> tuple[Sample, list[str]]:
    """The first documents of each file, and the files' names. `asked`: the formats to ask, all when None. Raises SourceError when a path leads to no file."""
    from detector.sources.files import expand

    found = Sample()
    names = expand(paths)
    for name in names[:FILES]:
        _add(found, islice(_raw(name), PER_FILE), asked)
    return found, names


def sample_cluster(settings: Settings, asked: Sequence[Format] | None = None) -> Sample:
    """The newest documents of an index, oldest first; `asked` as above. Raises SourceError (ClusterError) and ConfigError."""
    from detector.placing import Span
    from detector.sources.elasticsearch import cluster_source
    from detector.sources.es_looking import SOURCE, time_field

    source = cluster_source(settings, settings.secrets, format_of=None, span=Span(), rules=(), now=0.0)
    body = {
        "size": PER_FILE,
        "track_total_hits": False,
        "_source": SOURCE,
        "query": {"match_all": {}},
        "sort": [{time_field(source.fields): {"order": "desc", "unmapped_type": "date"}}],
    }
    hits = source.cluster.search(body, what=f"the newest documents of {source.cluster.index}")["hits"]["hits"]
    found = Sample()
    _add(found, (_of_hit(hit) for hit in reversed(hits)), asked)
    return found


def read_mapped(objects: Iterable[dict[str, Any]], places: dict[str, ColumnMapping], timezone: str = "UTC") -> list[Record]:
    """Records of documents by a mapping, as a run with that configuration reads them."""
    from detector.formats.mapped import mapped_format

    reader = Reader(available=(mapped_format(places, timezone),))
    documents = (Document(body, f"sample:{number}") for number, body in enumerate(objects, 1))
    return [outcome for outcome in reader.read(documents) if isinstance(outcome, Record)]


def _of_hit(hit: dict[str, Any]) -> Document:
    return Document({name: hit.get(name) for name in ("_index", "_id", "_source")}, f"{hit.get('_index')}:{hit.get('_id')}")


def _raw(name: str) -> Iterator[Document]:
    from detector.formats.wrapping_lines import raw_documents
    from detector.sources.base import Tally
    from detector.sources.lines import Fault, texts
    from detector.sources.opening import Blocks, is_stream, sniff
    from detector.sources.parquet import rows

    if not is_stream(name) and sniff(name) == "parquet":
        return rows(name, Tally())
    return raw_documents(("" if isinstance(line, Fault) else line for line in texts(Blocks(name))), name)


def _add(found: Sample, documents: Iterable[Document], asked: Sequence[Format] | None) -> None:
    reader = Reader(available=formats() if asked is None else asked)
    unknown: list[Document] = []

    def counted() -> Iterator[Document]:
        for document in documents:
            found.documents += 1
            yield document

    for outcome in reader.read(counted()):
        if isinstance(outcome, Rejected):
            found.rejected[outcome.reason] += 1
            found.ignored += outcome.ignored
            if outcome.reason in (OTHER_DOCUMENT, OTHER_LOG_DOCUMENT, NO_LOG_LINE):
                unknown.append(outcome.document)
        else:
            found.records.append(outcome)
    found.formats.update(reader.found)
    for name, seen in reader.evidence.items():
        found.evidence.setdefault(name, seen[0][0])
    found.objects.extend(body for document in unknown if isinstance(body := _object(document.body), dict))


def _object(body: Any) -> Any:
    """The object that a document is, or that stands behind a line's prefix: a reader with a mapping takes prefixes off too."""
    if isinstance(body, str) and not body.lstrip().startswith("{"):
        return decoded(body[body.find("{") :]) if body.rstrip().endswith("}") else None
    return decoded(body)

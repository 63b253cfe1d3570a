"""Parquet and CSV files as Arrow tables, piece by piece. It must not know what the columns mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from detector.errors import SourceError

_ROWS = 1 << 19  # rows of Parquet read at once: about 100 MB of ledger rows with all labels
_BYTES = 1 << 24  # of CSV
_COLUMNS = re.compile(r"(?:(Row #\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class TableFile:
    """An open table: its column names in order, and `pieces(columns)`: Arrow tables of some columns, all rows in order. Cells of a CSV are text."""

    names: tuple[str, ...]
    pieces: Callable[[Sequence[str]], Iterator[Any]]


@contextmanager
def open_table(path: Path) -> Iterator[TableFile]:
    """Open a Parquet file (told by its first bytes) or else a CSV (comma, semicolon or tab; also compressed, by its suffix).

    Raises:
        SourceError: no such file, empty, or neither Parquet nor CSV; also while its pieces are read.
    """
    import pyarrow as pa

    if not path.is_file():
        raise SourceError(f"{path}: {'is a folder; name one Parquet or CSV file' if path.is_dir() else 'no such file'}")
    try:
        with path.open("rb") as file:
            head = file.read(4)
        if not head:
            raise SourceError(f"{path}: the file is empty; a table needs a header and rows")
        if head == b"PAR1":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as parquet:
                yield TableFile(tuple(parquet.schema_arrow.names), lambda columns: _pieces(parquet.iter_batches(_ROWS, columns=list(columns))))
        else:
            yield _csv(path)
    except pa.ArrowException as error:
        raise SourceError(f"{path}: is not a readable Parquet or CSV table ({_said(error)})") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: can't be read ({_first_line(error)})") from None


def _csv(path: Path) -> TableFile:
    import pyarrow as pa
    from pyarrow import csv

    with pa.input_stream(str(path)) as stream:
        start = stream.read(1 << 16)
    if b"\x00" in start:
        raise SourceError(f"{path}: holds binary data and is not Parquet; save it as Parquet or CSV")
    header = start.split(b"\n", 1)[0].decode("utf-8-sig").strip("\r")
    delimiter = max(",;\t", key=header.count)
    names = [name.strip().strip('"') for name in header.split(delimiter)]

    def pieces(columns: Sequence[str]) -> Iterator[Any]:
        with csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=_BYTES, column_names=names, skip_rows=1),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                include_columns=list(columns),
                column_types={name: pa.string() for name in names},  # whoever reads the cells can then name a bad one by its row
                strings_can_be_null=False,
            ),
        ) as reader:
            yield from _pieces(reader)

    return TableFile(tuple(names), pieces)


def _pieces(batches: Any) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        yield pa.Table.from_batches([batch])


def _said(error: Exception) -> str:
    """What Arrow complains of, without the cells that it quotes: a log may have been named by mistake, with text of answers in it."""
    found = _COLUMNS.search(str(error))
    return f"{found[1] or 'a row'} has {found[3]} cells instead of {found[2]}" if found else type(error).__name__


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]

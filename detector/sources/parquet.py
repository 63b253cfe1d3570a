"""Rows of a Parquet file as documents, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from detector.formats.base import Document
from detector.sources.base import CouldNot, Tally

_ROWS = 512  # rows that are Python objects at the same time


def rows(path: str, tally: Tally) -> Iterator[Document]:
    """Documents of one file, `place` being `path:row` counted from 1. A damaged file is told in the tally."""
    import pyarrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield Document(_plain(row), f"{path}:{number}")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        tally.could_not.append(CouldNot(path, f"the Parquet file can't be read after row {number} ({type(error).__name__})", "write it again"))


def _plain(value: Any) -> Any:
    """A value in JSON's own types: times as ISO 8601 text, bytes as text, map columns as objects."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(entry, tuple) and len(entry) == 2 for entry in value):
            return {str(key): _plain(entry) for key, entry in value}
        return [_plain(entry) for entry in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Decimal):
        return float(value)
    return value

"""Tables of counts from anywhere as a ledger: every way to write them, and what is told about odd ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from detector.errors import SourceError
from detector.ledger_table import read_table
from detector.record import SERIES_LABELS
from tests.count_tables import DAY, START, parquet, table


def ledger_rows(path: Path, step: int = 1) -> list[tuple[object, ...]]:
    return list(read_table(path, step).ledger.rows())


def test_every_way_to_write_the_minute_gives_the_same_ledger(tmp_path: Path) -> None:
    whole = table()
    minutes = np.array(whole["minute"])
    seconds = minutes * 60
    expected = ledger_rows(parquet(tmp_path / "minutes.parquet", whole))
    assert len(expected) == 2 * 9 * 144
    stamps = seconds.astype("datetime64[s]")
    ways = {
        "seconds": seconds,
        "milliseconds": seconds * 1000,
        "float": seconds.astype(float),
        "timestamp": pa.array(stamps),
        "zoned": pa.array(stamps).cast(pa.timestamp("us", tz="UTC")),
        "other zone": pa.array(stamps).cast(pa.timestamp("ns", tz="Asia/Seoul")),
        "iso": [f"{stamp}Z" for stamp in stamps],
        "naive": [str(stamp).replace("T", " ") for stamp in stamps],
        "offset": [f"{stamp}+09:00" for stamp in stamps + np.timedelta64(9, "h")],
        "text": [str(second) for second in seconds],
    }
    for name, way in ways.items():
        assert ledger_rows(parquet(tmp_path / f"{name}.parquet", table(minute=way))) == expected, name


def test_csv_in_several_dialects_equals_parquet(tmp_path: Path) -> None:
    expected = ledger_rows(parquet(tmp_path / "a.parquet", table()))
    columns = table()
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    for name, text in {
        "plain": "\n".join(lines),
        "windows": "\ufeff" + "\r\n".join(lines) + "\r\n",
        "semicolon": "\n".join(lines).replace(",", ";"),
        "tab": "\n".join(lines).replace(",", "\t"),
        "quoted": '"' + '"\n"'.join(lines).replace(",", '","') + '"\n',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        assert ledger_rows(tmp_path / name) == expected, name


def test_coarser_bins_hold_the_same_counts(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", table())
    fine, coarse = (read_table(path, step).ledger.panel("length_cutoff", ("deployment",), START, START + 9 * DAY, 30) for step in (1, 30))
    np.testing.assert_array_equal(fine.requests, coarse.requests)
    np.testing.assert_array_equal(fine.flagged, coarse.flagged)


def test_rows_of_one_key_add_and_row_order_is_irrelevant(tmp_path: Path) -> None:
    columns = {name: [*column, *column][::-1] for name, column in table().items()}
    once, twice = ledger_rows(parquet(tmp_path / "a.parquet", table())), ledger_rows(parquet(tmp_path / "b.parquet", columns))
    assert [(*row[:3], row[3] // 2, row[4] // 2) for row in twice] == once


@pytest.mark.parametrize("rows", [1 << 19, 100])
@pytest.mark.parametrize("step", [1, 30])
def test_rows_that_repeat_a_minute_signal_and_series_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, step: int) -> None:
    """In one piece and across pieces; bins that hold several minutes repeat nothing."""
    monkeypatch.setattr("detector.table_file._ROWS", rows)
    columns = table()
    once = read_table(parquet(tmp_path / "once.parquet", columns), step)
    assert (once.repeated, once.repeated_at) == (0, None)
    places = [7, 2000, 700]
    more = {name: [*column, *(column[place] for place in places)] for name, column in columns.items()}
    again = read_table(parquet(tmp_path / "again.parquet", more), step)
    assert (again.repeated, again.repeated_at) == (3, 2593)
    shuffled = np.random.default_rng(3).permutation(2595)
    mixed = read_table(parquet(tmp_path / "mixed.parquet", {name: [column[place] for place in shuffled] for name, column in more.items()}), step)
    assert mixed.repeated == 3
    at = list(shuffled)
    assert mixed.repeated_at == 1 + min(max(at.index(place), at.index(2592 + i)) for i, place in enumerate(places))
    assert list(again.ledger.rows()) == list(mixed.ledger.rows())


def test_rows_of_other_labels_signals_or_minutes_repeat_nothing(tmp_path: Path) -> None:
    columns = {
        "minute": [START, START, START, START + 1, START, START + DAY],
        "signal": ["a", "b", "a", "a", "a", "a"],
        "pod": ["x", "x", "y", "x", None, "x"],
        "requests": [5] * 6,
        "flagged": [1] * 6,
    }
    assert read_table(parquet(tmp_path / "a.parquet", columns)).repeated == 0
    without_pods = {name: column for name, column in columns.items() if name != "pod"}
    found = read_table(parquet(tmp_path / "b.parquet", without_pods))
    assert (found.repeated, found.repeated_at) == (2, 3)


def test_missing_and_empty_labels_are_not_known(tmp_path: Path) -> None:
    number = 2 * 9 * 144
    path = parquet(tmp_path / "a.parquet", table(model=[None] * number, pod=[""] * number, stream=[True] * number))
    labels = read_table(path).ledger.panel("length_cutoff", SERIES_LABELS, START, START + 10).labels
    assert labels[0] == {"deployment": "chat", "model": None, "engine": None, "engine_version": None, "pod": None, "stream": "true"}


def test_columns_that_are_not_used_are_named(tmp_path: Path) -> None:
    assert read_table(parquet(tmp_path / "a.parquet", table(note=["x"] * 2592))).unused == ("note",)


def test_rows_of_a_subtype_have_no_requests_of_their_own(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", {"minute": [START] * 2, "signal": ["a", "a/b"], "requests": [5, 0], "flagged": [2, 1]})
    assert read_table(path).ledger.panel("a", (), START, START + 1, 1, ("b",)).flagged.item() == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"flagged": None}, r"column flagged: missing.*Rename"),
        ({"flagged": [9] * 5}, r"row 3: column flagged: 9 is more than the 4 requests; count"),
        ({"flagged": [0, 0, 0, 0, -1]}, r"row 5: column flagged: -1 is not a count; write a whole number"),
        ({"requests": [1, 2, 3, 4, None]}, r"row 5: column requests: is empty; write a whole number"),
        ({"requests": [9.0, 9.0, 9.5, 9.0, 9.0]}, r"row 3: column requests: 9.5 is not a whole number"),
        ({"requests": [9.0, float("nan"), 9.0, 9.0, 9.0]}, r"row 2: column requests: is empty"),
        ({"requests": ["9", "9", "nine", "9", "9"]}, r"row 3: column requests: 'nine' can't be used"),
        ({"minute": ["2024-10-04T00:00Z", "yesterday", "2024-10-04", "1", "1"]}, r"row 2: column minute: 'yesterday' can't be used; write ISO 8601"),
        ({"minute": [START, START, -5, START, START]}, r"row 3: column minute: lies before 1970"),
        ({"minute": [True] * 5}, r"column minute: has type bool"),
        ({"signal": ["a", "a", "a", "", "a"]}, r"row 4: column signal: is empty"),
    ],
)
def test_a_bad_table_is_refused_with_row_column_and_remedy(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    columns = {"minute": [START] * 5, "signal": ["a"] * 5, "requests": [9, 9, 4, 9, 9], "flagged": [1] * 5, **change}
    path = parquet(tmp_path / "bad.parquet", {name: column for name, column in columns.items() if column is not None})
    with pytest.raises(SourceError, match=complaint) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))


def test_the_row_is_counted_over_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detector.table_file._ROWS", 100)
    columns = table()
    columns["flagged"] = [*columns["flagged"][:1000], 10**6, *columns["flagged"][1001:]]
    with pytest.raises(SourceError, match="row 1001: column flagged"):
        read_table(parquet(tmp_path / "a.parquet", columns))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "empty"),
        (b"minute,signal,requests,flagged\n", "no rows"),
        (b"minute,signal,requests,flagged\n1,a,2\n", "not a readable"),
        (b"PAR1 and then nothing", "not a readable"),
        (b"\x7fELF\x00\x01,\x02", "binary"),
        (b"minute,signal,requests,flagged\n1,\xff\xfe,2,1\n", "not a readable"),
        (b"minute,minute,signal,requests,flagged\n1,1,a,2,1\n", "stands twice"),
        (b"minute,signal,requests,flagged\n1,a,2,1\n,a,2,1\n", "row 2: column minute: is empty"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "table").write_bytes(content)
    with pytest.raises(SourceError, match=complaint):
        read_table(tmp_path / "table")


def test_no_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        read_table(tmp_path / "nowhere.csv")
    with pytest.raises(SourceError, match="folder"):
        read_table(tmp_path)

"""The scan's hints: supersets of what the judges look for, equal for any order and grouping of rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.batch import Batch
from detector.marker_hints import compile_hints
from detector.record import Record
from detector.signals.markers import HINTS, STARTS
from detector.text_scan import CHUNK_ROWS, scan

ORDINARY = "The quick brown fox jumps over the lazy dog; see [1] and (2).\n- item: 3 < 4\n"


def one(**columns: object) -> dict[str, bool]:
    found = scan(Batch.from_records([Record(**columns)]))  # type: ignore[arg-type]
    return {name: bool(getattr(found, name)[0]) for name in ("marker", "start", "odd", "non_ascii", "blank", "loop")}


@pytest.mark.parametrize("literal", HINTS)
def test_every_literal_is_hinted(literal: str) -> None:
    assert one(content=literal)["marker"]
    assert one(content=" \n" + literal + " and more")["marker"]
    assert one(reasoning=literal)["marker"]
    for before in range(60, 68):  # across the edges of the kernel's blocks
        assert one(content="x" * before + literal)["marker"]
    assert one(tool_calls=("f",), tool_arguments=("{}" + literal,))["marker"]
    assert one(tool_calls=("f" + literal,), tool_arguments=("{}",))["marker"]


@pytest.mark.parametrize("literal", STARTS)
@pytest.mark.parametrize("before", ["", " \n", "\x1c\u2003\u3000"])
def test_every_beginning_is_hinted(literal: str, before: str) -> None:
    assert one(content=before + literal + " and more")["start"]
    assert not one(content="x" + literal)["start"]


def test_ordinary_text_is_not_hinted() -> None:
    assert one(content=ORDINARY * 3) == {"marker": False, "start": False, "odd": False, "non_ascii": False, "blank": False, "loop": False}


@pytest.mark.parametrize(
    "text",
    [
        *("a\ufffdb", "a\x00b", "bell\x07", "del\x7f", "c1\x85", "it\u00e2\u20ac\u2122s", "caf\u00c3\u00a9", "\u00c3\u00ac\u00e2\u20ac\u00a2\u2013"),
        *("\ufeffBOM", "zero\u200bwidth", "soft\u00adhyphen", "\u2581The\u2581", "\u0120the", "\ue000", "\ud800", "\U000e0041", "\u2060", "\u3164"),
        *("30 days nbsp; the fee", "is due,, late", "is due ,, late"),
        *("\u951f\u65a4\u62f7", "\u7e3a\u4ea5", "\u70eb\u70eb"),
    ],
)  # fmt: skip
def test_odd_characters_are_hinted(text: str) -> None:
    assert one(content="x" * 70 + text)["odd"]
    assert one(reasoning=text)["odd"]


@pytest.mark.parametrize(
    "text", [ORDINARY, "안녕하세요. 반갑습니다.", "你好，世界。缓存", "こんにちは、世界。", "Déjà vu à l'été", "“quoted” — and so on…", "👍🏽 ok", "Привет"]
)
def test_ordinary_scripts_are_not_odd(text: str) -> None:
    assert not one(content=text)["odd"]


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("", True),
        (" \n\t", True),
        ("\u200b\u2060", True),
        ("\u2800", True),
        ("\u3164 \u3000", True),
        ("\u00a0", True),
        (".", False),
        ("가", False),
        (" \n x", False),
        ("👍", False),
        (None, True),
    ],
)
def test_blank_means_nothing_visible(text: str | None, blank: bool) -> None:
    assert one(content=text)["blank"] is blank
    assert one(content="answer", reasoning=text)["blank"] is False


def test_columns_are_looked_at_as_documented() -> None:
    assert one(content="한국어")["non_ascii"]
    assert one(content="ascii", reasoning="한국어")["non_ascii"]
    assert one(reasoning="so " * 200)["loop"]
    assert not one(tool_arguments=("so " * 200,))["loop"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.text(max_size=200), st.sampled_from(["</think>", "ab " * 80, "<|im_end|>", ""])), min_size=1, max_size=40), st.randoms()
)
def test_rows_do_not_influence_each_other(texts: list[str | None], shuffler: object) -> None:
    order = list(range(len(texts)))
    shuffler.shuffle(order)  # type: ignore[attr-defined]

    together = scan(Batch(len(texts), {"content": texts}))
    shuffled = scan(Batch(len(texts), {"content": [texts[place] for place in order]}))
    alone = [scan(Batch(1, {"content": [text]})) for text in texts]

    for name in ("marker", "start", "odd", "non_ascii", "blank", "loop"):
        values = getattr(together, name)
        assert values.dtype == np.bool_
        assert values.shape == (len(texts),)
        assert getattr(shuffled, name).tolist() == [bool(values[place]) for place in order]
        assert [bool(getattr(single, name)[0]) for single in alone] == values.tolist()


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("<|>[]/thinkTHINK_:-")), max_size=150))
def test_marker_hint_is_exactly_the_presence_of_a_literal(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")

    assert one(content=text)["marker"] == any(literal.encode()[:8] in data for literal in HINTS)
    if text.lstrip().startswith(STARTS):
        assert one(content=text)["start"]


def test_a_hint_never_spans_two_rows() -> None:
    found = scan(Batch(6, {"content": ["\u00c0", "\u00c2", "<", "|im_start|>", "</thi", "nk>"]}))

    assert not found.odd.any()
    assert found.marker.tolist()[:3] == [False, False, False]
    assert scan(Batch(2, {"content": ["a <", "|b"]})).marker.tolist() == [False, False]


def test_more_rows_than_a_chunk() -> None:
    size = 2 * CHUNK_ROWS + 3
    found = scan(Batch(size, {"content": ["</think>" if row % 7 == 0 else None if row % 5 == 0 else ORDINARY for row in range(size)]}))

    assert found.marker.tolist() == [row % 7 == 0 for row in range(size)]
    assert found.blank.tolist() == [row % 7 != 0 and row % 5 == 0 for row in range(size)]


def test_empty_batch() -> None:
    assert scan(Batch(0, {})).marker.shape == (0,)


def test_literals_of_one_byte_are_refused() -> None:
    with pytest.raises(ValueError, match="two bytes"):
        compile_hints(("<",))


def test_importing_the_package_leaves_numba_out() -> None:
    code = "import detector, detector.cli, detector.batch, detector.signals.base as b, sys; b.signals(); sys.exit('numba' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_compiled_code_is_cached_elsewhere_when_the_package_is_read_only(tmp_path: Path) -> None:
    code = "from detector.batch import Batch; print(bool(Batch(1, {'content': ['so ' * 200]}).text.loop[0]))"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[1])

    assert done.stdout.strip() == "True"
    assert any((tmp_path / "cache").rglob("*.nbi"))

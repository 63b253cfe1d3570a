"""docs/formats.md is what the formats say of themselves."""

from __future__ import annotations

from pathlib import Path

from detector.formats.base import formats
from detector.formats.reference import reference

PAGE = Path(__file__).parent.parent / "docs" / "formats.md"


def test_the_page_is_made_from_the_formats() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m detector.formats.reference > docs/formats.md"


def test_every_format_says_what_it_cant_show() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for fmt in formats():
        assert f"\n## {fmt.name}\n" in page
        for line in (*fmt.sees, *fmt.blind):
            assert line in page

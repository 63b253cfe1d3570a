"""Whatever stands in a configuration, the answer is a value or faults with their lines."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from detector.config import load_settings
from detector.errors import ConfigError
from detector.rules import read_rule

ODD = (
    st.none()
    | st.booleans()
    | st.integers(-3, 10**6)
    | st.floats(allow_nan=False)
    | st.sampled_from(["5m", "x", "", "https://h", "off", "length", "a\nb", "é"])
)
WORDS = st.sampled_from(
    [
        "source",
        "path",
        "url",
        "index",
        "lag",
        "mapping",
        "unit",
        "values",
        "tls",
        "ca_file",
        "group_by",
        "rules",
        "store",
        "schedule",
        "every",
        "prometheus",
        "grafana",
        "panels",
        "ttft",
        "dashboard",
        "panel",
        "kibana",
        "notify",
        "slack",
        "channel",
        "storm",
        "webhook",
        "language",
        "privacy",
        "content",
        "signals",
        "think_markers",
        "small_cap_tokens",
        "finish_reason",
        "model",
        "title",
        "status",
        "severity",
        "signal",
        "detector",
        "spike",
        "threshold",
        "window",
        "baseline",
        "for",
        "tests",
        "name",
        "current",
        "count",
        "at",
        "firing",
        "deployment",
        "min_requests",
        "meaning",
    ]
)
ANYTHING = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=15)


@given(st.dictionaries(WORDS, ANYTHING, max_size=8))
def test_whatever_stands_in_a_file_the_answer_is_a_value_or_faults_with_their_lines(data: dict[str, object]) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False)
    lines = text.count("\n") + 1
    with TemporaryDirectory() as folder:
        path = Path(folder) / "detector.yml"
        path.write_text(text, encoding="utf-8")
        try:
            load_settings(path, {})
        except ConfigError as error:
            for fault in str(error).split(f"{path}:")[1:]:
                assert 1 <= int(fault.partition(":")[0]) <= lines
        rule, found = read_rule(path)
        assert (rule is None) == bool(found)
        assert all(1 <= fault.line <= lines and fault.reason for fault in found)

"""The table of formats for people, made from the formats themselves: `python -m detector.formats.reference > docs/formats.md`."""

from __future__ import annotations

from collections.abc import Iterator

from detector.formats.base import Format, formats
from detector.sources.joining_views import HELD_RECORDS, HELD_SECONDS, RETRY_GAP_SECONDS
from detector.sources.several_views import MOST_FILES

HEAD = """\
# Formats

`detector formats detect PATH` names a log's format with its evidence, `detector formats read PATH` prints the records that are made of it. `check` and `scan`
recognise formats by themselves, document by document; `--format-of NAME` or `source.format` overrides. A layout that is not here is described in
`source.mapping`; `detector init PATH|URL` writes a first one. What shippers and stores wrap around a log is taken off before (Filebeat, Fluent Bit, docker and
containerd, journald, Logstash, Vector, Loki, cloud exports, Elasticsearch dumps and search answers; JSON in texts, split lines, coloured prefixes).

Text that a log does not hold is *not captured*, never *empty*, and no signal judges it. A reason that a producer can't be trusted with is kept as written
(`finish_reason_raw`), and `length` is inferred from token counts (`finish_reason_source: inferred`).
"""
VIEWS = f"""\
## One answer in several logs

A request may stand in the engine's log, a gateway's and a tracer's. Records with the same request id from logs
of different formats are one record; the API's prefixes (`chatcmpl-`, `cmpl-`) do not count. Two records of one format are never joined, because
clients reuse ids.

| what | believed |
|---|---|
| finish reason, token counts, tool calls, pod, waiting time | engine, then gateway, then tracer |
| text | as the engine, but parsed text before text from before the reasoning parser, whoever logged it |
| status, error, start, duration, time to the first token | gateway, then client and tracer, then engine: as the client saw them |

A view waits for the others for {HELD_SECONDS:.0f} seconds of log time and {HELD_RECORDS:,} records at most, so memory is bounded. Files that see requests from
several places are read side by side in one process (up to {MOST_FILES} files): those with times by time, those without in step with them, so they have to
cover the same stretch. Where logs of several views share no id, the answers of each are counted, and `check` says so: name the one to count with
`--source`, `--format-of` or `source.format`. Naming an engine's, gateway's or tracer's format leaves out objects of the other views.

A failed attempt that LiteLLM itself followed up (same trace id and prompt, begun within {RETRY_GAP_SECONDS:.0f} s of the failure) is no request of its own:
the request is the last attempt, with its outcome, the start of the first, and the whole duration. Envoy, Kong, APISIX and nginx write one line per
request with its attempts inside. Answers from a gateway's cache bear `cache_hit`; no engine was asked for them, and they are left out of all rates.
A document that stands in a log twice is counted once.
"""


def reference() -> str:
    """Markdown: a row per format, then what each log can and can't show."""
    found = sorted(formats(), key=lambda fmt: fmt.name)
    table = ["| format | log | seen from | text | inferred | can't be seen |", "|---|---|---|---|---|---|", *(_row(fmt) for fmt in found)]
    return "\n".join([HEAD, *table, "", VIEWS, *(line for fmt in found for line in _section(fmt))]).rstrip() + "\n"


def _row(fmt: Format) -> str:
    text = {True: "before the reasoning parser", False: "as the user read it", None: "depends on the line"}[fmt.raw_text]
    if {"think_leak", "repetition", "empty_content"} <= set(fmt.off):
        text = "none"
    return f"| [`{fmt.name}`](#{fmt.name}) | {fmt.title} | {fmt.view} | {text} | {_named(fmt.inferred)} | {_named(fmt.off)} |"


def _named(signals: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in signals) or "–"


def _section(fmt: Format) -> Iterator[str]:
    yield f"## {fmt.name}"
    yield ""
    yield f"{fmt.title[:1].upper()}{fmt.title[1:]}."
    yield ""
    for word, lines in (("Shows", fmt.sees), ("Can't show", fmt.blind)):
        if lines:
            yield f"- {word}: {'; '.join(lines)}."
    yield f"- Finish reasons: {fmt.trust}."
    yield f"- Units: {fmt.units}."
    if fmt.joiner is not None:
        yield "- Several lines or documents make one answer."
    yield ""


if __name__ == "__main__":
    print(reference(), end="")

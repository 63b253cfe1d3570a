"""The text of a first `detector.yml`: what was found, as settings with reasons in comments. Names from a log are quoted; no text of it gets in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detector.discovery.mapping_guess import NO_ZONE, Guess
from detector.discovery.profile import coverage, text_states, visible
from detector.discovery.sample import Sample
from detector.formats.base import formats
from detector.record import Record
from detector.render.inert import plain
from detector.render.numbers import several


@dataclass(frozen=True)
class Place:
    """Where the log is: `paths`, or `url` and `index`."""

    paths: tuple[str, ...] = ()
    url: str | None = None
    index: str | None = None
    tls: Mapping[str, str] = field(default_factory=dict)


def draft(place: Place, sample: Sample, guesses: Sequence[Guess], records: Sequence[Record]) -> str:
    """The configuration file. `records`: what a run with it makes of the sample."""
    lines = [
        "# Written by `detector init` after a look at the log. Read it, correct it, then run `detector doctor` and `detector check --since 1h`.",
        "# All settings: docs/configuration.md. Secrets never stand here: they come from the environment (DETECTOR_ES_API_KEY, DETECTOR_SLACK_TOKEN …).",
        "",
        "source:",
    ]
    if place.url is not None:
        lines += [f"  url: {_quoted(place.url)}", f"  index: {_quoted(place.index or '')}", "  lag: 2m                # how late documents arrive"]
        if place.tls:
            lines.append(f"  tls: {{{', '.join(f'{name}: {_quoted(value)}' for name, value in place.tls.items())}}}")
    else:
        lines.append(f"  path: {_quoted([*place.paths])}")
    lines += _formats(sample, guessed=bool(guesses))
    if guesses:
        lines += _mapping(guesses)
    if any(guess.column == "timestamp" and NO_ZONE in guess.why for guess in guesses):
        lines.append("  # timezone: Asia/Seoul   # of times without a zone")
    elif any(record.timestamp is None for record in records):
        without = sum(record.timestamp is None for record in records)
        lines += [
            f"  # {without} of {several(len(records), 'answer')} bear no time that can be placed (none, without a year, or without a zone).",
            "  # Let the shipper add one, or map `timestamp`; for times of a mapping that bear no zone:",
            "  # timezone: Asia/Seoul",
        ]
    lines += ["", *_coverage(records, guesses), "", *_signals(records), "", *_REST]
    return "\n".join(lines) + "\n"


_REST = (
    "# group_by: [deployment, model]          # what makes a series; each rule's own when left out",
    "# rules: [shipped, my-rules/]            # the shipped rules when left out",
    "# schedule: {every: 5m}                  # for `detector run`",
    "# prometheus: {url: http://prometheus:9090}",
    "# grafana: {url: https://grafana.example}",
    "# kibana: {url: https://kibana.example}",
    "# notify:",
    "#   slack: {channel: C0123456789}        # token: DETECTOR_SLACK_TOKEN",
)


def _quoted(value: Any) -> str:
    """As JSON, which is YAML too; names that are no valid text (half a surrogate pair) are escaped."""
    written = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if any("\ud800" <= letter <= "\udfff" for letter in written) else written


def _formats(sample: Sample, *, guessed: bool) -> list[str]:
    if not sample.formats:
        how = "the mapping below was guessed from names and values" if guessed else "nor could a mapping be guessed: say in `mapping:` where its columns stand"
        return [f"  # No format is recognised in {several(sample.documents, 'document')}; {how}."]
    known = {fmt.name: fmt for fmt in formats()}
    lines = []
    for name, number in sample.formats.most_common():
        fmt = known[name]
        lines.append(
            f"  # Recognised by itself: {name}, {number} of {several(sample.documents, 'document')} ({fmt.title}): {plain(sample.evidence.get(name, ''))}"
        )
        lines += [f"  #   not in this log: {line}" for line in fmt.blind]
        lines += [f"  #   {word}: {line}" for word, line in (("finish reasons", fmt.trust), ("units", fmt.units)) if line]
    if len(sample.formats) > 1:
        lines.append("  # Several formats: records of one request are joined by its id within a file; across files name one: format: NAME")
    if guessed:
        lines.append(
            f"  # {several(len(sample.objects), 'document')} of no known format: the mapping below was guessed from names and values. It is asked first, so"
        )
        lines.append("  # a document of another format in which something stands at one of its paths is read by it: name the log by a glob to keep them apart.")
    for reason, number in sample.rejected.most_common(5):
        lines.append(f"  # {several(number, 'document')} gave no answer: {plain(reason)}")
    return lines


def _mapping(guesses: Sequence[Guess]) -> list[str]:
    lines = ["  mapping:"]
    for guess in guesses:
        setting = {"path": guess.path, **({"unit": guess.unit} if guess.unit else {}), **({"values": guess.values} if guess.values else {})}
        why = f"in {guess.share:.0%} of the documents" + (f"; {guess.unit}: {guess.why}" if guess.unit and guess.why else f"; {guess.why}" if guess.why else "")
        lines.append(f"    {guess.column}: {_quoted(setting)}  # {why}")
        if guess.values:
            lines.append("    #   guessed, correct it: these words mean stop, length, tool_calls, content_filter, abort, error, repetition or unknown")
    return lines


def _coverage(records: Sequence[Record], guesses: Sequence[Guess]) -> list[str]:
    if not records:
        return ["# Not one answer could be read from the sample."]
    units = {guess.column: guess for guess in guesses if guess.unit}
    lines = [f"# Coverage: {several(len(records), 'answer')} in the sample.", "#   column               share  type"]
    for entry in coverage(records):
        unit = f" in {entry.unit}" if entry.unit and entry.kind == "number" else ""
        read = f", read from {units[entry.column].unit}" if entry.column in units else ""
        lines.append(f"#   {entry.column:<20} {entry.share:>4.0%}  {entry.kind}{unit}{read}")
    states = text_states(records)
    lines.append("#   text of answers: " + ", ".join(f"{number} {state.replace('_', ' ')}" for state, number in states.most_common()))
    return lines


def _signals(records: Sequence[Record]) -> list[str]:
    lines = ["# Signals: the share of answers that can show each, and what is missing."]
    for entry in visible(records):
        if entry.share == 0:
            what = f"can't be seen: {', '.join(entry.missing)} missing" if entry.missing else "can't be seen in this sample"
        else:
            what = f"{entry.share:.0%} of answers" + (f"; without {', '.join(entry.missing)}" if entry.missing else "")
        lines.append(f"#   {entry.signal:<19} {what}")
    return lines

"""Slices: the breakdown of a finding that stands out (model, pod, stream, …), from the ledger's labels. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from detector.findings import Slice
from detector.ledger import Ledger
from detector.record import SERIES_LABELS
from detector.window import Window

MIN_FLAGGED = 3  # fewer flagged requests in a slice are no pattern (evidence gate, as for rules)
MIN_RATIO = 2.0  # rate inside against outside; below that the slice is only where the traffic is
MIN_SHARE = 0.5  # share of the excess that the slice holds
MIN_LOG_LIKELIHOOD_RATIO = 6.0  # binomial likelihood ratio inside/outside against one common rate; e^6 = 400 to 1


def stand_out(
    ledger: Ledger, signal: str, group_by: Sequence[str], labels: Mapping[str, str | None], window: Window, subtypes: Sequence[str] = ()
) -> tuple[Slice, ...]:
    """Values of one further label that hold most of the flagged requests and much more than their share of requests; best first, at most three."""
    found: list[tuple[float, Slice]] = []
    for name in SERIES_LABELS:
        if name in group_by:
            continue
        panel = ledger.panel(signal, [*group_by, name], window.first_minute, window.end_minute, 1, subtypes)
        own = [i for i, series in enumerate(panel.labels) if all(series[key] == value for key, value in labels.items())]
        if len(own) < 2:
            continue
        n, k = panel.requests[own].sum(axis=1), panel.flagged[own].sum(axis=1)
        for at, series in enumerate(own):
            value = panel.labels[series][name]
            if value is None:
                continue
            inside_k, inside_n = int(k[at]), int(n[at])
            outside_k, outside_n = int(k.sum()) - inside_k, int(n.sum()) - inside_n
            if inside_k < MIN_FLAGGED or not outside_n:
                continue
            inside, outside = inside_k / inside_n, (outside_k + 0.5) / (outside_n + 1)
            excess = inside_k - inside_n * outside_k / outside_n
            share = max(0.0, min(1.0, excess / max(1e-9, float(k.sum()) - float(n.sum()) * outside_k / outside_n)))
            gain = _log_likelihood(inside_k, inside_n) + _log_likelihood(outside_k, outside_n) - _log_likelihood(int(k.sum()), int(n.sum()))
            if inside >= MIN_RATIO * outside and share >= MIN_SHARE and inside_k >= MIN_SHARE * k.sum() and gain >= MIN_LOG_LIKELIHOOD_RATIO:
                found.append((gain, Slice({name: value}, inside_k, inside_n, outside_k, outside_n, round(share, 4))))
    found.sort(key=lambda item: (-item[0], str(item[1].conditions)))
    return tuple(part for _, part in found[:3])


def _log_likelihood(k: int, n: int) -> float:
    """Maximised binomial log likelihood (without the constant)."""
    rate = k / n if n else 0.0
    return float(sum(count * np.log(share) for count, share in ((k, rate), (n - k, 1 - rate)) if count))

"""What every detector must keep to, and what each is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from detector.detectors.base import HEADINGS, Detector, Horizon, Scores, detectors, make, parameters
from detector.detectors.forecast import screened
from detector.errors import ConfigError
from detector.panel import Panel

DAY = 1440
START = 20_000 * DAY  # a midnight
HORIZON = Horizon(window=60, baseline=7 * DAY)
ALL = sorted(detectors())


def panel(requests: np.ndarray, flagged: np.ndarray, step: int = 10, start: int = START, names: list[dict[str, str | None]] | None = None) -> Panel:
    labels = tuple(names or [{"deployment": f"d{i}"} for i in range(len(requests))])
    return Panel(start, step, labels, np.asarray(requests, np.int64), np.asarray(flagged, np.int64))


def world(series: int = 6, days: int = 10, seed: int = 3, requests: float = 300, rate: float = 0.01) -> Panel:
    rng = np.random.default_rng(seed)
    n = rng.poisson(requests, (series, days * 144))
    return panel(n, rng.binomial(n, rate))


def with_flagged(source: Panel, series: int, low: int, high: int, extra: int) -> Panel:
    flagged = source.flagged.copy()
    flagged[series, low:high] += extra
    return panel(np.maximum(source.requests, flagged), flagged, source.step, source.start, list(source.labels))


def last(detector: Detector, source: Panel, horizon: Horizon = HORIZON) -> Scores:
    return detector.score(source, [source.bins], horizon)


def test_there_are_the_detectors_that_rules_name() -> None:
    assert {"hits", "share", "spike"} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
class TestEveryDetector:
    def test_says_that_it_cannot_judge_where_there_are_no_requests(self, name: str) -> None:
        empty = panel(np.zeros((2, 2000)), np.zeros((2, 2000)))
        scores = make(name).score(empty, [1, 1999, 2000], HORIZON)
        assert np.isnan(scores.score).all()
        assert all(scores.reasons[code] for code in scores.why_not.ravel())

    def test_tells_of_a_series_with_requests_that_there_are_some(self, name: str) -> None:
        """What could not be judged is told as of the time with most requests: not as of one before the first of them."""
        requests = np.zeros((1, 2000))
        requests[0, 1990:] = 2
        scores = make(name).score(panel(requests, np.zeros((1, 2000))), [1000, 2000], replace(HORIZON, min_requests=100))
        assert np.isnan(scores.score).all()
        assert scores.requests[0].argmax() == 1
        assert scores.reasons[scores.why_not[0, 1]] != "no requests in the window"

    def test_takes_a_panel_without_series_and_one_without_ends(self, name: str) -> None:
        assert make(name).score(panel(np.zeros((0, 300)), np.zeros((0, 300))), [300], HORIZON).score.shape == (0, 1)
        assert make(name).score(world(), [], HORIZON).score.shape == (6, 0)

    def test_leaves_its_input_alone(self, name: str) -> None:
        source = world()
        before = source.requests.copy(), source.flagged.copy()
        last(make(name), source)
        assert (source.requests == before[0]).all()
        assert (source.flagged == before[1]).all()

    def test_does_not_care_about_the_order_of_series(self, name: str) -> None:
        source = with_flagged(world(), 2, 1430, 1440, 12)
        order = [4, 2, 0, 5, 1, 3]
        turned = panel(source.requests[order], source.flagged[order], names=[source.labels[i] for i in order])
        ends = list(range(1300, 1441))
        straight, other = make(name).score(source, ends, HORIZON), make(name).score(turned, ends, HORIZON)
        np.testing.assert_array_equal(straight.score[order], other.score)
        np.testing.assert_array_equal(straight.window[order], other.window)

    def test_gives_the_same_scores_twice(self, name: str) -> None:
        np.testing.assert_array_equal(last(make(name), world()).score, last(make(name), world()).score)

    def test_never_scores_lower_for_more_flagged_in_the_newest_bin(self, name: str) -> None:
        source = world()
        scores = [last(make(name), with_flagged(source, 1, 1439, 1440, extra)).score[1, 0] for extra in (0, 1, 2, 4, 8, 16, 40, 150)]
        assert scores == sorted(scores)
        assert scores[-1] > scores[0]

    def test_score_at_an_end_depends_neither_on_other_ends_nor_on_later_counts_nor_on_counts_before_its_warm_up(self, name: str) -> None:
        detector = make(name)
        long = with_flagged(world(days=40), 2, 4900, 4906, 15)
        ends = [4903, 4906, 4912]
        whole = detector.score(long, range(4890, long.bins + 1), HORIZON).score[:, [end - 4890 for end in ends]]
        for column, end in enumerate(ends):
            first = max(0, end - -(-detector.warm_up(HORIZON) // long.step))
            short = panel(long.requests[:, first:end], long.flagged[:, first:end], start=long.start + first * long.step)
            np.testing.assert_array_equal(last(detector, short).score[:, 0], whole[:, column])

    def test_bins_that_divide_its_grain_give_the_scores_of_one_minute_counts(self, name: str) -> None:
        detector = make(name)
        rng = np.random.default_rng(8)
        n = rng.poisson(8, (3, 9 * DAY))
        k = rng.binomial(n, 0.01)
        k[1, -40:] = np.minimum(k[1, -40:] + 2, n[1, -40:])
        minute = detector.score(panel(n, k, 1), [9 * DAY - 10, 9 * DAY], HORIZON)
        for step in (2, 5, 10):
            if detector.grain(HORIZON) % step == 0:
                coarse = panel(n.reshape(3, -1, step).sum(2), k.reshape(3, -1, step).sum(2), step)
                np.testing.assert_array_equal(detector.score(coarse, [(9 * DAY - 10) // step, 9 * DAY // step], HORIZON).score, minute.score)

    def test_too_few_requests_for_the_rule_are_no_verdict(self, name: str) -> None:
        scores = last(make(name), world(), Horizon(60, 7 * DAY, min_requests=10**9))
        assert np.isnan(scores.score).all()
        assert "fewer" in scores.reasons[scores.why_not[0, 0]]

    def test_refuses_an_unknown_parameter_with_its_name(self, name: str) -> None:
        with pytest.raises(ConfigError, match="unknown parameter 'colour'"):
            make(name, {"colour": "red"})

    def test_its_docstring_has_the_headings_and_every_parameter_is_described(self, name: str) -> None:
        text = detectors()[name].__doc__ or ""
        places = [text.find(f"{heading}:") for heading in HEADINGS]
        assert -1 not in places
        assert places == sorted(places)
        for field, info in parameters(name).model_fields.items():
            assert field in text, f"{field} is not in the docstring"
            assert info.description, f"{field} has no description"

    def test_holds_no_threshold(self, name: str) -> None:
        assert "threshold" not in parameters(name).model_fields


def test_an_unknown_detector_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'spike'"):
        make("spikes")


def test_all_faults_of_parameters_are_told_at_once() -> None:
    with pytest.raises(ConfigError, match=r"windows.*min_ratio"):
        make("spike", {"min_ratio": 0.5, "windows": ["7m"]})


class TestHits:
    def labels(self, *versions: str | None) -> list[dict[str, str | None]]:
        return [{"deployment": "d", "engine_version": version} for version in versions]

    def test_three_in_six_hours_reach_three_and_older_ones_do_not_count(self) -> None:
        n, k = np.full((1, 100), 5), np.zeros((1, 100))
        k[0, [10, 64, 80, 99]] = 1
        scores = make("hits").score(panel(n, k), [99, 100], HORIZON)
        assert scores.score.tolist() == [[2.0, 3.0]]
        assert scores.requests[0, 1] == 36 * 5
        assert scores.expected[0, 1] == 0

    def test_two_are_enough_for_a_version_that_came_today_after_another(self) -> None:
        n, k = np.full((2, 288), 5), np.zeros((2, 288))
        n[1, :200] = 0
        k[:, [270, 280]] = 1
        scores = make("hits").score(panel(n, k, names=self.labels("0.1", "0.2")), [288], HORIZON)
        assert scores.score[:, 0].tolist() == [2.0, 3.0]

    def test_a_log_that_begins_today_makes_nothing_young(self) -> None:
        n, k = np.full((2, 20), 5), np.zeros((2, 20))
        k[:, 18:] = 1
        assert make("hits").score(panel(n, k, names=self.labels("0.1", "0.2")), [20], HORIZON).score[:, 0].tolist() == [2.0, 2.0]

    def test_without_known_versions_nothing_is_young(self) -> None:
        n, k = np.full((2, 288), 5), np.zeros((2, 288))
        n[1, :200] = 0
        k[:, 280:282] = 1
        assert make("hits").score(panel(n, k, names=self.labels(None, None)), [288], HORIZON).score[:, 0].tolist() == [2.0, 2.0]


class TestShare:
    def test_score_is_the_exact_lower_limit_over_the_rule_window(self) -> None:
        n, k = np.full((1, 12), 100), np.full((1, 12), 5)
        k[0, :6] = 90  # before the window
        scores = last(make("share"), panel(n, k))
        assert scores.score[0, 0] == pytest.approx(0.03398, abs=1e-4)  # 30 of 600; R: binom.test(30, 600)$conf.int
        assert (scores.flagged[0, 0], scores.requests[0, 0]) == (30, 600)
        assert np.isnan(scores.expected).all()

    def test_nothing_flagged_scores_zero(self) -> None:
        assert last(make("share"), panel(np.full((1, 12), 9), np.zeros((1, 12)))).score[0, 0] == 0


class TestSpike:
    THRESHOLD = 4.5

    def test_fires_on_a_tenfold_rate_and_says_what_was_expected(self) -> None:
        scores = last(make("spike"), with_flagged(world(), 3, 1438, 1440, 27))
        assert scores.score[3, 0] > 10
        assert (np.delete(scores.score[:, 0], 3) < self.THRESHOLD).all()
        assert scores.expected[3, 0] == pytest.approx(scores.requests[3, 0] * 0.01, rel=0.3)

    def test_reference_incident_two_at_a_thousand_requests_per_ten_minutes(self) -> None:
        rng = np.random.default_rng(0)
        n = rng.poisson(1000, (40, 8 * 144))
        p = np.full(n.shape, 2e-4)
        p[:, 7 * 144 :] = 2e-3
        scores = make("spike").score(panel(n, rng.binomial(n, p)), range(7 * 144 + 1, 8 * 144), HORIZON).score
        delay = 10 * (1 + np.argmax(scores >= self.THRESHOLD, axis=1))
        assert (scores.max(axis=1) >= self.THRESHOLD).all()
        assert np.median(delay) <= 60

    def test_more_traffic_at_the_same_rate_is_no_spike(self) -> None:
        source = world()
        n = source.requests.copy()
        n[:, 1400:] *= 20
        k = source.flagged.copy()
        k[:, 1400:] = np.random.default_rng(1).binomial(n[:, 1400:], 0.01)
        assert (make("spike").score(panel(n, k), range(1401, 1441), HORIZON).score < self.THRESHOLD).all()

    def test_a_series_that_is_noisy_by_itself_needs_more_than_a_calm_one(self) -> None:
        rng = np.random.default_rng(5)
        n = np.full((2, 14 * 144), 2000)
        p = np.full(n.shape, 0.01)
        p[1] *= np.exp(rng.normal(0, 0.8, 14 * 144) - 0.32)
        k = rng.binomial(n, p)
        k[:, -1] = 80  # four times the usual
        scores = last(make("spike"), panel(n, k)).score[:, 0]
        assert scores[0] > 2 * scores[1]

    def test_an_incident_in_the_past_does_not_hide_the_next(self) -> None:
        calm = with_flagged(world(series=1), 0, 1438, 1440, 30)
        for low, high, extra in ((1000, 1036, 30), (1008, 1044, 30), (1000, 1006, 10)):
            before = with_flagged(calm, 0, low, high, extra)
            assert last(make("spike"), before).score[0, 0] > 0.8 * last(make("spike"), calm).score[0, 0]

    def test_without_a_past_it_cannot_judge(self) -> None:
        n = np.zeros((1, 1440))
        n[0, -1] = 500
        scores = last(make("spike"), panel(n, n // 2))
        assert np.isnan(scores.score).all()
        assert "baseline" in scores.reasons[scores.why_not[0, 0]]

    def test_a_log_of_one_morning_is_past_enough_for_its_last_minutes(self) -> None:
        rng = np.random.default_rng(2)
        n = rng.poisson(100, (1, 48))
        k = rng.binomial(n, 0.002)
        k[0, -1] += 15
        assert last(make("spike"), panel(n, k)).score[0, 0] > self.THRESHOLD

    def test_three_are_never_a_spike(self) -> None:
        n, k = np.full((1, 1440), 1000), np.zeros((1, 1440))
        k[0, -1] = 3
        assert last(make("spike"), panel(n, k)).score[0, 0] == 0

    def test_bins_that_do_not_make_up_six_hours_are_refused(self) -> None:
        with pytest.raises(ValueError, match="six-hour"):
            last(make("spike"), panel(np.ones((1, 100)), np.zeros((1, 100)), step=7, start=7 * 400))

    def test_hourly_bins_are_judged_in_the_windows_that_they_can_show(self) -> None:
        rng = np.random.default_rng(4)
        n = rng.poisson(600, (1, 240))
        k = rng.binomial(n, 0.01)
        k[0, -1] = 60
        scores = last(make("spike"), panel(n, k, step=60))
        assert scores.score[0, 0] > self.THRESHOLD
        assert scores.window[0, 0] == 60

    def test_screening_leaves_out_a_block_that_sticks_out_and_keeps_an_even_past(self) -> None:
        n, k = np.full((2, 28), 1000.0), np.full((2, 28), 10.0)
        k[1, 9] = 100
        keep = screened(n, k)
        assert keep[0].all()
        assert np.flatnonzero(~keep[1]).tolist() == [9]

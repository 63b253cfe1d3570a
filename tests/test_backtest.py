"""Backtest: episodes and the command, which must agree with `check`'s scoring."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from detector.backtest import backtest, bin_minutes
from detector.cli import main
from detector.episodes import Episode, episodes
from detector.ledger import Ledger
from detector.ledger_table import read_table
from detector.record import SERIES_LABELS
from detector.rules import Rule, default_folder, load_rules
from detector.scoring import score_rule
from tests.count_tables import DAY, RISE, START, counts, parquet, table

DATA = Path(__file__).parent / "data" / "ledger"


def rule(signal: str = "length_cutoff", detector: str = "spike", threshold: float = 4.5, **more: object) -> Rule:
    base = next(rule for rule in load_rules([default_folder()]) if rule.detector == detector)
    return base.model_copy(update={"id": "tested", "signal": signal, "subtypes": (), "threshold": threshold, "for_minutes": 0, "min_requests": 0, **more})


class TestEpisodes:
    ENDS = np.arange(0, 1000, 10)

    def found(self, alarms: dict[int, float], for_minutes: int = 0, blind: tuple[int, ...] = ()) -> list[Episode]:
        score = np.zeros(100)
        for at, value in alarms.items():
            score[at] = value
        score[list(blind)] = np.nan
        return episodes(score, self.ENDS, 4.5, for_minutes)

    def test_alarms_an_hour_apart_are_one_and_further_apart_two(self) -> None:
        assert self.found({10: 5, 16: 6}) == [Episode(10, 10, 16, 16, 17)]
        assert [(one.first, one.resolved) for one in self.found({10: 5, 17: 6})] == [(10, 11), (17, 18)]

    def test_the_threshold_itself_fires(self) -> None:
        assert len(self.found({10: 4.5})) == 1
        assert not self.found({10: 4.4999})

    def test_for_delays_and_drops_what_does_not_last(self) -> None:
        assert self.found({10: 5, 11: 7, 12: 6}, for_minutes=20)[0].fired == 12
        assert not self.found({10: 5, 11: 7}, for_minutes=20)

    def test_what_still_fires_at_the_end_is_not_over(self) -> None:
        assert self.found({98: 5, 99: 5})[0].resolved is None

    def test_evaluations_that_could_not_be_judged_resolve_nothing(self) -> None:
        blind = tuple(range(11, 40))
        assert self.found({10: 5, 40: 6}, blind=blind) == [Episode(10, 10, 40, 40, 41)]
        assert self.found({10: 5}, blind=tuple(range(11, 100)))[0].resolved is None


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return read_table(DATA / "minutes.csv").ledger


class TestBacktest:
    def test_the_table_in_the_repository_is_what_its_readme_says(self, ledger: Ledger) -> None:
        rows = [(minute, labels[SERIES_LABELS.index("deployment")], n, k) for minute, labels, _, n, k in ledger.rows()]
        assert rows == sorted(counts())

    def test_finds_the_rise_and_nothing_else(self, ledger: Ledger) -> None:
        result = backtest(ledger, [rule()], START, START + 9 * DAY, 10)
        (alarm,) = result.alarms
        assert alarm.labels["deployment"] == "chat"
        assert RISE < alarm.fired_at <= RISE + 20
        assert alarm.resolved_at is not None
        assert alarm.flagged > 5 * (alarm.expected or 0)
        assert not result.could_not
        assert result.series_days == pytest.approx(18, abs=0.2)

    def test_scores_are_those_of_check_at_the_same_end(self, ledger: Ledger) -> None:
        whole = score_rule(rule(), ledger, START, START + 9 * DAY, 10)
        for end in (RISE + 10, RISE + 40, RISE + 300):
            one = score_rule(rule(), ledger, end - 60, end, 60)
            column = int(np.searchsorted(whole.ends, end))
            np.testing.assert_array_equal(one.score[:, 0], whole.score[:, column])

    @pytest.mark.parametrize("cells", [1, 40_000])
    def test_stretches_do_not_change_scores(self, ledger: Ledger, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = score_rule(rule(), ledger, START, START + 9 * DAY, 10).score
        monkeypatch.setattr("detector.scoring._CELLS_AT_ONCE", cells)
        np.testing.assert_array_equal(score_rule(rule(), ledger, START, START + 9 * DAY, 10).score, whole)

    def test_bins_are_as_long_as_rules_and_step_allow(self) -> None:
        assert bin_minutes([rule()], 10) == 10
        assert bin_minutes([rule()], 4) == 2
        assert bin_minutes([rule(), rule(detector="share", threshold=0.1, window_minutes=15)], 10) == 5

    def test_signals_without_a_rule_and_rules_without_counts_are_told(self, ledger: Ledger) -> None:
        result = backtest(ledger, [rule("garbage")], START, START + 9 * DAY, 10)
        assert [(entry.what, entry.blocking) for entry in result.could_not] == [("rules tested", False), ("signal length_cutoff", True)]

    def test_a_rule_on_subtypes_needs_their_counts(self, ledger: Ledger) -> None:
        (entry,) = [e for e in backtest(ledger, [rule(subtypes=("answer_cut",))], START, START + DAY, 10).could_not if e.what == "rules tested"]
        assert "length_cutoff/answer_cut" in entry.why

    def test_series_that_could_never_be_judged_are_told(self, ledger: Ledger) -> None:
        (entry,) = backtest(ledger, [rule(min_requests=10**6)], START, START + DAY, 10).could_not
        assert entry.what == "rule tested: 2 of 2 series"
        assert entry.blocking

    def test_a_rule_on_subtypes_is_judged_by_their_counts(self) -> None:
        ledger, minutes = Ledger(), np.arange(START, START + 2 * DAY)
        late = (minutes >= START + DAY).astype(np.int64)
        series = [("chat",) + (None,) * (len(SERIES_LABELS) - 1)] * len(minutes)
        ledger.add(minutes, series, "length_cutoff", np.full(len(minutes), 10), late)
        tested = rule(detector="hits", threshold=3.0, subtypes=("answer_cut",), window_minutes=360, min_requests=0)
        assert not backtest(ledger, [tested], START, START + 2 * DAY, 10).alarms  # a table that counts no subtypes says nothing of them
        assert not backtest(ledger, [tested], START, START + 2 * DAY, 10, all_subtypes=True).could_not  # a log without them had none
        ledger.add(minutes, series, "length_cutoff/answer_cut", np.zeros(len(minutes), np.int64), late)
        (alarm,) = backtest(ledger, [tested], START, START + 2 * DAY, 10).alarms
        assert START + DAY < alarm.fired_at <= START + DAY + 10


class TestCommand:
    def run(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
        code = main(["backtest", "--rules", str(default_folder() / "finish_reason_length_spike.yml"), *arguments])
        return code, *capsys.readouterr()

    def test_jsonl_has_one_line_per_episode_with_the_documented_keys(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, err = self.run(capsys, "--ledger", str(DATA / "minutes.csv"), "--format", "jsonl")
        assert (code, err) == (1, "")
        (line,) = map(json.loads, out.splitlines())
        keys = {"rule", "signal", "deployment", "model", "pod", "fired_at", "resolved_at", "score", "flagged", "requests", "expected"}
        assert keys <= set(line)
        assert (line["rule"], line["deployment"], line["pod"]) == ("finish_reason_length_spike", "chat", None)
        assert "2024-10-12T13:00:00Z" < line["fired_at"] <= "2024-10-12T13:30:00Z"

    def test_text_says_when_what_and_how_often(self, capsys: pytest.CaptureFixture[str]) -> None:
        code, out, _ = self.run(capsys, "--ledger", str(DATA / "minutes.csv"))
        assert code == 1
        assert "chat" in out
        assert "expected" in out
        assert "1 alarm episode from 2024-10-04T00:00:00Z to 2024-10-13T00:00:00Z" in out

    def test_from_and_to_bound_the_evaluations(self, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ("--ledger", str(DATA / "minutes.csv"), "--format", "jsonl", "--to", "2024-10-12T13:00:00Z")
        assert self.run(capsys, *arguments)[:2] == (0, "")
        assert self.run(capsys, *arguments[:4], "--from", "2024-10-12T20:30:00Z")[:2] == (0, "")
        code, _, err = self.run(capsys, *arguments, "--from", "2024-10-12T18:00:00Z")
        assert code == 2
        assert "--from must be before --to" in err

    def test_a_bad_table_is_one_line_on_stderr_and_exit_code_two(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("minute,signal,requests,flagged\n5,length_cutoff,1,2\n")
        code, out, err = self.run(capsys, "--ledger", str(tmp_path / "t.csv"))
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert "row 1: column flagged" in err

    def test_rows_that_repeat_one_are_told_with_their_number_and_the_first_place(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        lines = (DATA / "minutes.csv").read_text().splitlines()
        (tmp_path / "once.csv").write_text("\n".join(lines))
        (tmp_path / "twice.csv").write_text("\n".join([*lines, *lines[3:6]]))
        code, out, err = self.run(capsys, "--ledger", str(tmp_path / "once.csv"))
        again = self.run(capsys, "--ledger", str(tmp_path / "twice.csv"))
        assert (code, err) == (1, "")
        assert again[:2] == (code, out)  # three rows of quiet minutes change no alarm
        said = f"3 rows repeat the minute, signal and labels of an earlier row (first: row {len(lines)}); their counts were added up"
        assert again[2].startswith(f"detector: {tmp_path}/twice.csv: {said}; ")

    @pytest.mark.parametrize("name", ["log.jsonl", "log.csv", "headed.csv"])
    def test_a_log_that_was_named_by_mistake_is_not_quoted(self, name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        text = {
            "log.jsonl": '{"request": {"messages": [{"content": "my secret, and another secret"}]}}\n',
            "log.csv": "2026-11-29T13:30:00Z,my secret,another secret\n",
            "headed.csv": "minute,signal,requests,flagged\n1,length_cutoff,9,1,my secret,another secret\n",
        }
        (tmp_path / name).write_text(text[name])
        code, out, err = self.run(capsys, "--ledger", str(tmp_path / name))
        assert (code, out) == (2, "")
        assert "secret" not in err
        assert ("has 6 cells instead of 4" if name == "headed.csv" else "a log is given with --source") in err

    def test_labels_can_not_steer_the_terminal(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        path = parquet(tmp_path / "t.parquet", table(deployment=["\x1b[31mred\n" if name == "chat" else name for name in table()["deployment"]]))
        assert "\x1b" not in self.run(capsys, "--ledger", str(path))[1]

    def test_a_log_is_counted_and_backtested_like_a_table(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        log = tmp_path / "log.ndjson"
        with log.open("w") as file:
            for at in range(0, 6 * 3600, 20):
                reason = "length" if at % 4000 == 0 or (at >= 5 * 3600 and at % 60 == 0) else "stop"
                answer = {
                    "id": f"r{at}",
                    "model": "m",
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes, that is so."}, "finish_reason": reason}],
                }
                answer["usage"] = {"prompt_tokens": 9, "completion_tokens": 200, "total_tokens": 209}
                request = {"model": "m", "messages": [{"role": "user", "content": "Is it so?"}], "max_tokens": 200}
                envelope = {"timestamp": START * 60 + at, "deployment": "chat", "status": 200, "latency_ms": 900, "request": request, "response": answer}
                file.write(json.dumps(envelope) + "\n")
        code, out, _ = self.run(capsys, "--source", str(log), "--format", "jsonl")
        assert code == 1
        (line,) = map(json.loads, out.splitlines())
        assert line["deployment"] == "chat"
        assert "2024-10-04T05:00:00Z" < line["fired_at"] <= "2024-10-04T05:40:00Z"

"""`detector check` on files, as its users run it."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path

import pytest

from detector.cli import main
from tests.answers import START, days, envelope, leak, write
from tests.check_cases import checked, leaking


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return leaking(tmp_path / "log.jsonl")


def test_finding_carries_counts_interval_baseline_and_ids(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every number of the contract is there and agrees with the log."""
    code, report = checked(capsys, "--since", "1h", "--source", str(log))
    assert code == 1
    finding = next(entry for entry in report["findings"] if entry["rule"] == "think_tag_leak")
    assert (finding["flagged"], finding["requests"]) == (12, 60)
    assert finding["rate"] == pytest.approx(0.2)
    assert finding["interval"][0] < 0.2 < finding["interval"][1]
    assert (finding["baseline"]["flagged"], finding["baseline"]["requests"]) == (0, 2880)
    assert finding["first"] == "2026-11-22T00:00:00Z"
    assert finding["last"] == "2026-11-22T00:55:00Z"
    assert finding["subtypes"] == {"close_only": 12}
    assert finding["also"] == {"length_cutoff": 12}
    assert len(finding["request_ids"]) == 5
    assert finding["slices"][0]["conditions"] == {"pod": "harbour-7"}
    assert finding["slices"][0]["share_explained"] == pytest.approx(1)
    assert finding["notify"] is True


def test_findings_on_the_same_requests_share_an_incident(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The leak and the cut-off are the same requests, hence one incident."""
    _, report = checked(capsys, "--since", "1h", "--source", str(log))
    signals = {entry["signal"] for entry in report["findings"]}
    assert {"think_leak", "length_cutoff"} <= signals
    assert len({entry["incident"] for entry in report["findings"]}) == 1


def test_no_text_of_an_answer_is_shown_unasked(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither format repeats what the log's answers say."""
    for form in ("text", "json", "markdown"):
        main(["check", "--since", "1h", "--source", str(log), "--format", form])
        assert "crane" not in capsys.readouterr().out


def test_text_is_shown_where_it_was_asked_for(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An inert excerpt around the marker."""
    main(["check", "--since", "1h", "--source", str(log), "--show-content"])
    assert "add it up.\\u000a</think>\\u000a" in capsys.readouterr().out.replace("\n              ", " ").replace("\n", "")


def test_clean_log_is_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Looked, nothing fires: exit code 0."""
    code, report = checked(capsys, "--since", "1h", "--source", str(write(tmp_path / "clean.jsonl", days(3, 60))))
    assert report["findings"] == []
    assert [entry for entry in report["could_not"] if entry["blocking"]] == []
    assert code == 0


def test_level_that_was_always_there_is_a_report_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A chronic level is info and notifies nobody."""
    rows = [leak(i, START + timedelta(minutes=i)) if i % 5 == 0 else envelope(i, START + timedelta(minutes=i)) for i in range(3 * 1440)]
    code, report = checked(capsys, "--since", "6h", "--source", str(write(tmp_path / "chronic.jsonl", rows)))
    assert code == 1
    assert {(entry["severity"], entry["notify"], entry["chronic"]) for entry in report["findings"]} == {("info", False, True)}
    main(["check", "--since", "6h", "--source", str(tmp_path / "chronic.jsonl")])
    assert f"no higher than in the log before it, since {START:%Y-%m-%d %H:%M} UTC" in " ".join(capsys.readouterr().out.split())


def test_jobs_give_equal_bytes(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The findings do not depend on the number of processes."""
    folder = tmp_path / "parts"
    folder.mkdir()
    lines = log.read_text().splitlines(keepends=True)
    for part in range(3):
        (folder / f"{part}.jsonl").write_text("".join(lines[part::3]))
    outputs = []
    for jobs in ("1", "2", "3"):
        main(["check", "--all", "--source", str(folder), "--format", "json", "--jobs", jobs])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] == outputs[2]


def test_row_order_does_not_matter(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines in another order give the same findings."""
    turned = tmp_path / "turned.jsonl"
    turned.write_text("".join(reversed(log.read_text().splitlines(keepends=True))))
    _, one = checked(capsys, "--since", "1h", "--source", str(log))
    _, other = checked(capsys, "--since", "1h", "--source", str(turned))
    assert one["findings"] == other["findings"]


def test_choices_of_one_request_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A response with three choices is one request of three records."""
    row = envelope(1, START)
    row["request"]["n"] = 3
    row["response"]["choices"] = [{**row["response"]["choices"][0], "index": index} for index in range(3)]
    _, report = checked(capsys, "--all", "--source", str(write(tmp_path / "n.jsonl", [row])))
    assert (report["scanned"]["requests"], report["scanned"]["records"]) == (1, 3)


def test_mapping_reads_an_unknown_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns at their own places, with units."""
    rows = [
        {
            "ts": int((START + timedelta(minutes=i)).timestamp() * 1000),
            "svc": "harbour",
            "out": {"txt": None if i > 2800 else "All is well on the quay."},
            "why": "stop",
            "used": 30,
            "rid": f"r{i}",
        }
        for i in range(2880)
    ]
    path = write(tmp_path / "own.jsonl", rows)
    config = tmp_path / "detector.yml"
    config.write_text(
        "source:\n  mapping:\n    timestamp: {path: ts, unit: ms}\n    deployment: svc\n    content: out.txt\n"
        "    finish_reason: why\n    completion_tokens: used\n    request_id: rid\n"
    )
    code, report = checked(capsys, "--config", str(config), "--since", "1h", "--source", str(path))
    assert code == 1
    assert {entry["signal"] for entry in report["findings"]} == {"empty_content"}
    assert report["findings"][0]["deployment"] == "harbour"


def test_demo_finds_the_re_enacted_incident(capsys: pytest.CaptureFixture[str]) -> None:
    """The bundled log fires with the leak and the cut-off as one incident, and nothing else."""
    assert main(["demo", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {entry["signal"] for entry in report["findings"]} == {"think_leak", "length_cutoff"}
    assert len({entry["incident"] for entry in report["findings"]}) == 1
    assert report["scanned"]["unreadable"] == 0


def test_many_series_are_bounded_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A deployment name per request: judged as far as it goes, the rest is named, memory and time stay bounded."""
    rows = [envelope(i, START + timedelta(seconds=i), deployment=f"tenant-{i}") for i in range(3000)]
    rows += [leak(9000 + i, START + timedelta(minutes=i), deployment="tenant-bad") for i in range(5)]
    code, report = checked(capsys, "--since", "1h", "--source", str(write(tmp_path / "log.jsonl", rows)))
    assert code == 1
    assert {entry["deployment"] for entry in report["findings"]} == {"tenant-bad"}
    assert any("too many to judge one by one" in entry["why"] for entry in report["could_not"])


def test_answers_without_text_in_the_log_are_no_clean_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nine of ten answered requests show no text: what needs text was not looked at."""
    rows = days(2, 60)
    for number, row in enumerate(rows):
        if number % 10:
            row["response"] = None
    code, report = checked(capsys, "--since", "1h", "--source", str(write(tmp_path / "log.jsonl", rows)))
    assert code == 2
    assert any("think_leak" in entry["what"] and "2,592 of 2,880" in entry["what"] for entry in report["could_not"])


def test_a_window_beside_the_log_is_not_quiet(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No request in the window: exit code 2, and where the log lies."""
    code, report = checked(capsys, "--from", "2027-01-01T00:00:00Z", "--to", "2027-01-01T01:00:00Z", "--source", str(log))
    assert code == 2
    assert any("no request lies in it" in entry["why"] for entry in report["could_not"])


def test_a_window_of_centuries_costs_no_more_than_the_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what lies near the log is evaluated."""
    code, report = checked(capsys, "--from", "0001-01-02", "--to", "9999-12-30", "--source", str(log))
    assert code == 1
    assert report["window"]["to"].startswith("9999-12-30")


def test_times_without_a_zone_need_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not guessed; with `source.timezone` they are used."""
    rows = days(1, 60)
    for row in rows:
        row["timestamp"] = row["timestamp"].replace("T", " ").removesuffix("Z")
    path = write(tmp_path / "log.jsonl", rows)
    code, report = checked(capsys, "--since", "1h", "--source", str(path))
    assert code == 2
    assert report["window"] is None
    config = tmp_path / "detector.yml"
    config.write_text("source: {timezone: Asia/Seoul}\n")
    code, report = checked(capsys, "--since", "1h", "--source", str(path), "--config", str(config))
    assert report["window"]["to"] == "2026-11-20T15:00:00Z"


def test_ids_can_not_steer_the_terminal_and_are_copied_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`scan` escapes; Markdown keeps an id with underscores whole."""
    rows = [leak(i, START + timedelta(minutes=i)) for i in range(5)]
    for number, row in enumerate(rows):
        row["request_id"] = row["response"]["id"] = f"req_{number}_a*b\x1b[31m\nx  ok"
    path = write(tmp_path / "log.jsonl", rows)
    main(["scan", str(path)])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 5
    main(["check", "--all", "--source", str(path), "--format", "markdown"])
    assert "`req_0_a*b\\u001b[31m\\u000ax  ok`" in capsys.readouterr().out


def test_a_fault_of_ours_is_no_finding(log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Unforeseen exceptions end with 2 and one line."""
    import detector.commands.check as command

    monkeypatch.setattr(command, "print_report", lambda *_: 1 / 0)
    assert main(["check", "--all", "--source", str(log)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_rotated_copies_are_read_once(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log, its packed copy, and an earlier state of it in one folder."""
    folder = tmp_path / "rotated"
    folder.mkdir()
    data = log.read_bytes()
    (folder / "a.jsonl").write_bytes(data)
    (folder / "a.jsonl.1.gz").write_bytes(gzip.compress(data))
    (folder / "a.jsonl.2").write_bytes(data[: data.index(b"\n", len(data) // 2) + 1])
    _, one = checked(capsys, "--since", "1h", "--source", str(log))
    _, three = checked(capsys, "--since", "1h", "--source", str(folder))
    assert three["findings"][0]["flagged"] == one["findings"][0]["flagged"]
    assert three["scanned"]["requests"] == one["scanned"]["requests"]
    assert sum("read once" in entry["why"] for entry in three["could_not"]) == 2

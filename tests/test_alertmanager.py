"""A real Alertmanager is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from detector.errors import NotifyError
from detector.notify.alertmanager import AlertmanagerReceiver
from detector.storage.silences import matcher
from detector.storage.store import Store
from tests.incident_cases import T0, finding, fired
from tests.receiver_cases import ended, one_run, telling
from tests.servers.alertmanager import Alertmanager, alertmanager
from tests.servers.receivers import Service, served
from tests.servers.required import ServerMissingError, missing


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(f"sqlite:///{tmp_path}/detector.db")
    yield found
    found.close()


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alertmanager]:
    """A real one."""
    try:
        context = alertmanager(tmp_path_factory.mktemp("alertmanager"))
        running = context.__enter__()
    except ServerMissingError as error:
        missing(error)
    yield running
    context.__exit__(None, None, None)


@pytest.mark.alertmanager
def test_alertmanager_fires_goes_on_and_resolves(manager: Alertmanager) -> None:
    """Labels identify and hold no counts, the end is set ahead and moved at every run, and the end is told at once."""
    manager.got.clear()
    receiver = AlertmanagerReceiver((manager.url,), 300, time.time)
    now = time.time()
    incident = fired(finding(now, flagged=25), at=now)
    thread = receiver.tell(telling("fired", incident, now, owner="team-llm"), "k1", None, tried_at=None)
    (alert,) = manager.wait_for("firing", "chat")
    assert alert["labels"] == {
        "alertname": "think_leak", "deployment": "chat", "incident": incident.id, "model": "qwen3-32b", "owner": "team-llm", "severity": "warning",
        "source": "llm-response-detector",
    }  # fmt: skip
    assert "25 of 1,204" in alert["annotations"]["summary"]
    assert alert["generatorURL"].startswith("https://kibana.example")
    (held,) = [alert for alert in manager.alerts() if alert["labels"]["incident"] == incident.id]  # other tests' alerts may still stand
    later = fired(finding(now, flagged=99), at=now)
    thread = receiver.tell(telling("still", later, now + 300, owner="team-llm"), "k2", thread, tried_at=None)
    (again,) = [alert for alert in manager.alerts() if alert["labels"]["incident"] == incident.id]
    assert again["fingerprint"] == held["fingerprint"]
    assert again["endsAt"] >= held["endsAt"]
    assert "99 of 1,204" in again["annotations"]["summary"]
    receiver.tell(telling("resolved", ended(later, now), owner="team-llm"), "k3", thread, tried_at=None)
    (over,) = manager.wait_for("resolved", "chat")
    assert over["labels"] == alert["labels"]
    assert [alert for alert in manager.alerts() if alert["labels"]["incident"] == incident.id] == []


@pytest.mark.alertmanager
def test_alertmanager_another_severity_replaces_the_alert(manager: Alertmanager) -> None:
    """The warning ends when the critical one begins, though a joined signal does not rename it."""
    now = time.time()
    receiver = AlertmanagerReceiver((manager.url,), 300, time.time)
    incident = fired(finding(now, deployment="esc"), at=now)
    thread = receiver.tell(telling("fired", incident, now), "k1", None, tried_at=None)
    worse = fired(finding(now, deployment="esc"), finding(now, "empty_content_spike", deployment="esc", severity="critical"), at=now)
    worse = replace(worse, id=incident.id)
    receiver.tell(telling("escalated", worse, now), "k2", thread, tried_at=None)
    (alert,) = [alert for alert in manager.alerts() if alert["labels"]["deployment"] == "esc"]
    assert (alert["labels"]["severity"], alert["labels"]["alertname"]) == ("critical", "think_leak")


@pytest.mark.alertmanager
def test_alertmanager_through_scheduled_runs(manager: Alertmanager, store: Store) -> None:
    """Each run sends the alert again, also when nothing changed; the last one ends it."""
    manager.got.clear()
    now = time.time() // 60 * 60
    receiver = AlertmanagerReceiver((manager.url,), 300, time.time)
    case = finding(now, deployment="runs")
    assert one_run(store, receiver, now, case).delivered.sent == 1
    assert one_run(store, receiver, now + 1, case).delivered.sent == 1
    assert len(manager.wait_for("firing", "runs")) == 1
    assert one_run(store, receiver, now + 86400).delivered.sent == 1
    manager.wait_for("resolved", "runs")


@pytest.mark.alertmanager
def test_alertmanager_one_peer_of_two_is_enough(manager: Alertmanager) -> None:
    """The one that is away is named on stderr; both gone is a failure."""
    incident = fired(finding(time.time(), deployment="peers"), at=time.time())
    both = AlertmanagerReceiver((manager.url, "http://127.0.0.1:9"), 300, time.time)
    assert both.tell(telling("fired", incident), "k", None, tried_at=None) is not None
    assert [line.partition(" (")[0] for line in both.remarks] == ["alertmanager: no answer from http://127.0.0.1:9"]
    with pytest.raises(NotifyError, match="no answer"):
        AlertmanagerReceiver(("http://127.0.0.1:9",), 300, time.time).tell(telling("fired", incident), "k", None, tried_at=None)


@pytest.mark.alertmanager
def test_alertmanager_a_silence_of_ours_ends_no_alert(manager: Alertmanager, store: Store) -> None:
    """An alert that is not sent again lapses, which Alertmanager tells as its end: so it is sent again, as it was; what got worse is told after the silence."""
    now = time.time() // 60 * 60
    receiver = AlertmanagerReceiver((manager.url,), 300, time.time)
    one_run(store, receiver, now, finding(now, deployment="hush"))
    store.silence([matcher("deployment=hush")], "works", "me", now, now, now + 600)

    def held() -> list[tuple[str, str]]:
        return [(alert["labels"]["severity"], alert["annotations"]["summary"]) for alert in manager.alerts() if alert["labels"]["deployment"] == "hush"]

    done = one_run(store, receiver, now + 300, finding(now + 300, deployment="hush", severity="critical", flagged=77))
    assert done.delivered.sent == 1
    ((severity, summary),) = held()
    assert severity == "warning"
    assert "77 of" in summary
    one_run(store, receiver, now + 660, finding(now + 660, deployment="hush", severity="critical", flagged=77))
    assert [severity for severity, _ in held()] == ["critical"]


@pytest.mark.alertmanager
def test_alertmanager_hears_of_an_end_again_for_a_quarter_of_an_hour(store: Store) -> None:
    """One that was restarted meanwhile has forgotten it; later it is left alone."""
    sent: list[dict[str, Any]] = []

    class Api(Service):
        def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
            sent.extend(json.loads(body))
            return 200, {}

    now = time.time() // 60 * 60
    with served(Api()) as url:
        receiver = AlertmanagerReceiver((url,), 300, lambda: now)
        one_run(store, receiver, now - 86400, finding(now - 86400))
        for minute in (0, 5, 10, 15, 20, 25):
            one_run(store, receiver, now + 60 * minute)
    assert len({alert["endsAt"] for alert in sent[1:]}) == 1
    assert len(sent) == 1 + 4


def test_alertmanager_a_cron_job_of_any_rhythm_lets_no_alert_lapse(store: Store) -> None:
    """Nobody told the interval: it is that of the last two runs."""
    sent: list[dict[str, Any]] = []

    class Api(Service):
        def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
            sent.extend(json.loads(body))
            return 200, {}

    with served(Api()) as url:
        for hour in (0, 1, 1.98, 2, 3):  # and one by hand, a minute before the third
            at = T0 + 3600 * hour
            receiver = AlertmanagerReceiver((url,), 300, lambda at=at: at)  # type: ignore[misc]  # bound per turn
            one_run(store, receiver, at, *([finding(at)] if hour else []), clock=lambda at=at: at)  # type: ignore[misc]
    ends = [datetime.fromisoformat(alert["endsAt"]).timestamp() for alert in sent]
    assert ends == [pytest.approx(T0 + 3600 * hour + 3 * 3600, abs=1) for hour in (1, 1.98, 2, 3)]

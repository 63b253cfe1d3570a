"""A real Alertmanager is told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from detector.errors import NotifyError
from detector.notify.alertmanager import AlertmanagerReceiver
from detector.storage.store import Store
from tests.incident_cases import finding, fired
from tests.receiver_cases import ended, one_run, telling
from tests.servers.alertmanager import Alertmanager, alertmanager
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
    """Peers gossip; both gone is a failure."""
    incident = fired(finding(time.time(), deployment="peers"), at=time.time())
    both = AlertmanagerReceiver((manager.url, "http://127.0.0.1:9"), 300, time.time)
    assert both.tell(telling("fired", incident), "k", None, tried_at=None) is not None
    with pytest.raises(NotifyError, match="no answer"):
        AlertmanagerReceiver(("http://127.0.0.1:9",), 300, time.time).tell(telling("fired", incident), "k", None, tried_at=None)

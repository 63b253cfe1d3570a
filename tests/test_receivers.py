"""Receivers other than Slack and Alertmanager: servers that speak their protocols, faults included."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from detector.errors import NotifyError
from detector.notify.annotations import AnnotationReceiver
from detector.notify.base import Heard, Receiver
from detector.notify.choice import audience_of
from detector.notify.file import FileReceiver
from detector.notify.pagerduty import PagerDutyReceiver
from detector.notify.slack_webhook import SlackWebhookReceiver
from detector.notify.webhook import WebhookReceiver
from detector.scheduled import answer
from detector.storage.store import Store
from tests.incident_cases import T0, finding, fired
from tests.receiver_cases import one_run, telling
from tests.servers.receivers import Grafana, PagerDuty, Service, Webhook, served


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(f"sqlite:///{tmp_path}/detector.db")
    yield found
    found.close()


# -- webhook, PagerDuty, Grafana
def webhook(url: str) -> WebhookReceiver:
    return WebhookReceiver(url, "whsec-test", time.time)


def pagerduty(url: str) -> PagerDutyReceiver:
    return PagerDutyReceiver("a" * 32, url)


def grafana(url: str) -> AnnotationReceiver:
    return AnnotationReceiver(f"{url}/grafana/", "glsa_test")


SERVICES: list[Any] = [
    pytest.param(Webhook, webhook, id="webhook"),
    pytest.param(PagerDuty, pagerduty, id="pagerduty"),
    pytest.param(Grafana, grafana, id="grafana"),
]


def things(service: Service) -> int:
    """How many things a person would see there."""
    if isinstance(service, Webhook):
        return len(service.taken)
    return len(service.incidents) if isinstance(service, PagerDuty) else len(service.annotations)


@pytest.mark.parametrize("fault", [500, 503, 429, "lost"])
@pytest.mark.parametrize(("kind", "receiver_of"), SERVICES)
def test_passing_faults_lose_and_double_nothing(kind: type[Service], receiver_of: Callable[[str], Receiver], fault: int | str, store: Store) -> None:
    """Loud at once, told at the next run, once."""
    service = kind(faults=[fault])
    with served(service) as url:
        receiver = receiver_of(url)
        done = one_run(store, receiver, T0, finding(T0))
        assert (done.exit_code, len(done.delivered.failures)) == (3, 1)
        assert url in done.delivered.failures[0]
        assert one_run(store, receiver, T0, finding(T0)).exit_code == 1
        assert things(service) == 1


@pytest.mark.parametrize(("kind", "receiver_of"), SERVICES)
def test_a_wrong_secret_is_loud_and_kept(kind: type[Service], receiver_of: Callable[[str], Receiver], store: Store) -> None:
    """Exit code 3 until it is mended; no secret in the text."""
    service = kind()
    right = {"secret": "whsec-test", "key": "a" * 32, "token": "glsa_test"}
    (field,) = [name for name in right if hasattr(service, name)]
    setattr(service, field, "another")
    with served(service) as url:
        receiver = receiver_of(url)
        for _ in range(2):
            done = one_run(store, receiver, T0, finding(T0))
            assert done.exit_code == 3
            assert not [value for value in right.values() if value in done.delivered.failures[0]]
        setattr(service, field, right[field])
        assert one_run(store, receiver, T0, finding(T0)).exit_code == 1
        assert things(service) == 1


def test_webhook_body_is_the_incident_as_data(store: Store) -> None:
    """Counts, labels, links and the decision's key; no text of an answer."""
    service = Webhook()
    with served(service) as url:
        one_run(store, webhook(url), T0, finding(T0))
        one_run(store, webhook(url), T0 + 86400)
    first, last = service.taken.values()
    assert first["incident"]["deployment"] == "chat"
    assert first["findings"][0]["flagged"] == 25
    assert (first["kind"], last["kind"], last["incident"]["state"]) == ("fired", "resolved", "resolved")


def test_webhook_without_a_redirect() -> None:
    """A redirect is refused: a signed body goes where the configuration says, and nowhere else."""
    with served(Webhook(faults=[302])) as url, pytest.raises(NotifyError, match="302"):
        webhook(url).tell(telling("fired", fired(finding(T0))), "k", None, tried_at=None)


def test_pagerduty_triggers_and_resolves_one_incident(store: Store) -> None:
    """One dedup key from the first event to the last."""
    service = PagerDuty()
    with served(service) as url:
        one_run(store, pagerduty(url), T0, finding(T0))
        one_run(store, pagerduty(url), T0 + 300, finding(T0 + 300, severity="critical"))
        one_run(store, pagerduty(url), T0 + 86400)
    assert list(service.incidents.values()) == ["resolved"]
    assert [json.loads(body)["event_action"] for *_, body in service.requests] == ["trigger", "trigger", "resolve"]


def test_pagerduty_hears_that_somebody_took_it(store: Store) -> None:
    """Whoever is paged must not be called on because a colleague answered elsewhere; new counts are no event."""
    service = PagerDuty()
    with served(service) as url:
        one_run(store, pagerduty(url), T0, finding(T0))
        (incident,) = store.incidents()
        assert answer(store, Heard(incident.id, "ack", "kim"), T0 + 60) is not None
        one_run(store, pagerduty(url), T0 + 300, finding(T0 + 300, flagged=30))
        assert list(service.incidents.values()) == ["acknowledged"]
        one_run(store, pagerduty(url), T0 + 600, finding(T0 + 600, flagged=31))
        one_run(store, pagerduty(url), T0 + 86400)
    assert [json.loads(body)["event_action"] for *_, body in service.requests] == ["trigger", "acknowledge", "resolve"]


def test_grafana_region_grows_and_a_new_opening_is_a_new_region(store: Store) -> None:
    """One annotation per opening, under a sub-path; deleted by a person, it is drawn anew while it fires."""
    service = Grafana()
    with served(service) as url:
        receiver = grafana(url)
        one_run(store, receiver, T0, finding(T0))
        one_run(store, receiver, T0 + 300, finding(T0 + 300, flagged=30))
        assert service.annotations[1]["timeEnd"] == (T0 + 300) * 1000
        one_run(store, receiver, T0 + 600, finding(T0 + 600, severity="critical"))
        assert len(service.annotations) == 1
        assert service.annotations[1]["timeEnd"] == (T0 + 600) * 1000
        one_run(store, receiver, T0 + 86_400)
        one_run(store, receiver, T0 + 90_000, finding(T0 + 90_000))
        assert len(service.annotations) == 2
        assert "&lt;" in receiver_text(service, url)


def receiver_text(service: Grafana, url: str) -> str:
    grafana(url).tell(telling("fired", replace(fired(finding(T0, model="<img src=x onerror=alert(1)>")), opened=9)), "k", None, tried_at=None)
    text: str = service.annotations[max(service.annotations)]["text"]
    assert "<" not in text
    return text


# -- files, standard output, Slack's webhook
@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_file_is_written_once_per_decision(form: Any, tmp_path: Path, store: Store) -> None:
    """A message of unknown outcome is looked for in the file."""
    receiver = FileReceiver(str(tmp_path / "out"), form)
    telling_ = telling("fired", fired(finding(T0)))
    receiver.tell(telling_, "key-1", None, tried_at=None)
    receiver.tell(telling_, "key-1", None, tried_at=T0)
    assert (tmp_path / "out").read_text().count("key-1") == 1
    assert one_run(store, FileReceiver(str(tmp_path), form), T0, finding(T0)).exit_code == 3  # a folder can't be written


def test_slack_webhook_says_that_it_is_degraded(store: Store, tmp_path: Path) -> None:
    """In the message, and at every run."""

    class Hook(Service):
        def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
            return 200, "ok"

    service = Hook()
    with served(service) as url:
        receiver = SlackWebhookReceiver(f"{url}/services/T0/B0/SECRET", lambda: 0.0, lambda seconds: None)
        one_run(store, receiver, T0, finding(T0))
        one_run(store, receiver, T0 + 86400)
    first, last = (json.loads(body) for *_, body in service.requests)
    assert "webhook" in json.dumps(first["blocks"])
    assert "RESOLVED" in last["text"]
    config = tmp_path / "detector.yml"
    config.write_text("notify: {slack_webhook: true}\n")
    from detector.config import load_settings

    assert "webhook" in audience_of(load_settings(config, {"DETECTOR_SLACK_WEBHOOK_URL": url})).remarks[0]

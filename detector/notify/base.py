"""What a receiver is: something that can be told of an incident's change, and finds out whether it was told already.

Receivers do I/O and nothing else: what to tell is decided before (`detector.notify.decision`), kept in the store's outbox, and only then sent
(`detector.notify.delivery`). A receiver never decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter

from detector.incidents import Incident

# what may be told: the kinds of `detector.incidents.Change`, and those that decisions add
KINDS = ("fired", "reopened", "escalated", "grew", "updated", "taken", "reminder", "blind", "seen_again", "resolved", "merged", "still", "storm")

EDITS = frozenset({"updated", "taken"})  # kinds that change how an incident looks and add nothing to its story


@dataclass(frozen=True)
class Link:
    """A link under a message. `kind`: kibana, grafana, rule or upstream; `panel`: the Grafana panel's name."""

    kind: str
    title: str
    url: str
    panel: str = ""


@dataclass(frozen=True)
class Telling:
    """One thing to tell: the incident as it was when it was decided, what changed, and why it is told now.

    `at`: seconds since 1970 UTC. `storm`: the new incidents of the same run that one summary stands for (kind `storm`). `excerpts`: masked text by request id,
    empty unless `privacy.content` allows it. `channel`: Slack channel of the incident's route, None for the receiver's own; `owner`: who is asked to look.
    `quiet`: a silence or snooze is in force, so it must wake nobody. `siblings`: as they are now, the incidents that this receiver was told of in one summary
    with this one.
    """

    kind: str
    reason: str
    at: float
    incident: Incident
    links: tuple[Link, ...] = ()
    storm: tuple[Incident, ...] = ()
    excerpts: dict[str, str] = field(default_factory=dict)
    channel: str | None = None
    owner: str | None = None
    quiet: bool = False
    siblings: tuple[Incident, ...] = ()


TELLING = TypeAdapter(Telling)


@dataclass(frozen=True)
class Route:
    """Where an incident goes: names of receivers, and the Slack channel and owner of the route, if it names any."""

    receivers: tuple[str, ...]
    channel: str | None = None
    owner: str | None = None


@dataclass(frozen=True)
class Told:
    """What a receiver was last told of an incident, or is about to be: how often it had been opened, and its severity; `storm`: ids of the incidents that one
    summary tells of, where it was told in one."""

    opened: int
    severity: str
    storm: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heard:
    """What a person says of an incident: `action` is ack, snooze (until an instant, if one was named) or resolve; `by` names them."""

    incident_id: str
    action: str
    by: str
    until: float | None = None


@runtime_checkable
class Listener(Protocol):
    """A receiver that people answer at."""

    def heard(self, threads: Mapping[str, dict[str, Any]]) -> dict[str, list[Heard]]:
        """Every answer that stands at these incidents now (id -> where its parent stands); an incident that can't be asked about is left out.

        Raises:
            NotifyError: nothing can be asked.
        """
        ...


@runtime_checkable
class Repeating(Protocol):
    """A receiver that forgets what it is not told again in time."""

    def runs_every(self, seconds: float) -> None:
        """Runs were up to so far apart lately, where nobody knows their rhythm beforehand (a cron job)."""
        ...


@runtime_checkable
class Remarking(Protocol):
    """A receiver that may have something to say which is no failure; `remarks` are lines for stderr, emptied by whoever prints them."""

    remarks: list[str]


class Receiver(Protocol):
    """Somewhere that incidents are told.

    `name` is stable (it is part of the outbox's key). `kinds` are the kinds it wants to hear; `still` among them makes every run say that an incident goes on.
    `silent`: those of them that wake nobody where the incident is known, such as an edit: they are told under a silence too.
    """

    name: str
    kinds: frozenset[str]
    silent: frozenset[str]

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Deliver one telling; returns where the incident's parent message now stands (kept for the next call), or None.

        Args:
            key: the decision's identity; a receiver that can, writes it into the message.
            thread: what the last call for this incident returned; None: nobody here was told of it.
            tried_at: when an earlier attempt began that may have arrived (seconds since 1970 UTC): look for `key` before
                sending again. None: this is the first.

        Raises:
            NotifyError: it did not arrive, or may not have.
        """
        ...

"""`schedule:` how often the worker looks, and how far."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, field_validator, model_validator

from detector.settings.values import Texts, TimeZone, WebAddress
from detector.strict_model import Seconds, SecondsOrZero, Strict


def _cron(text: str) -> str:
    from apscheduler.triggers.cron import CronTrigger

    try:
        CronTrigger.from_crontab(text)
    except ValueError:
        raise ValueError(f"'{text}' is no cron expression: write five fields, such as */5 * * * *") from None
    return text


Cron = Annotated[str, AfterValidator(_cron)]


class RuleGroup(Strict):
    """Rules with a rhythm of their own."""

    rules: Texts = Field(min_length=1)
    """Ids of the rules; each rule belongs to one group at most."""
    every: Seconds | None = None
    """Time between two runs of this group."""
    cron: Cron | None = None
    """Five cron fields, in the schedule's time zone, instead of every."""

    @model_validator(mode="after")
    def _one_rhythm(self) -> RuleGroup:
        if (self.every is None) == (self.cron is None):
            raise ValueError("needs exactly one of every and cron")
        return self


class ScheduleSettings(Strict):
    """The worker's rhythm."""

    every: Seconds = 300.0
    """Time between two runs."""
    cron: Cron | None = None
    """Five cron fields in `timezone`, instead of every."""
    timezone: TimeZone = "UTC"
    """Time zone of cron fields (IANA name). A time that daylight saving leaves out runs an hour later, one that it repeats runs twice."""
    window: Seconds = 3600.0
    """The stretch that each run judges, ending `source.lag` before now; longer after an outage, up to catch_up."""
    catch_up: Seconds = 21600.0
    """How far back a run looks after an outage."""
    jitter: SecondsOrZero = 10.0
    """Each run begins up to this much later, so that many workers do not ask at the same moment."""
    deadline: Seconds = 60.0
    """Time that one rule may take to be judged."""
    groups: dict[str, RuleGroup] = Field(default_factory=dict)
    """Name of a group -> rules with a rhythm of their own; all other rules keep the schedule's."""
    listen: str = "127.0.0.1:9464"
    """Address (HOST:PORT) of /metrics and /healthz; empty: none."""
    heartbeat: WebAddress | None = None
    """Asked (GET) after each run that looked at everything and left nothing undelivered: a dead man's switch."""

    @field_validator("listen")
    @classmethod
    def _is_address(cls, value: str) -> str:
        if value and not (value.rpartition(":")[0] and value.rpartition(":")[2].isdigit() and int(value.rpartition(":")[2]) < 65536):
            raise ValueError("must be HOST:PORT, or empty")
        return value

    @model_validator(mode="after")
    def _each_rule_once(self) -> ScheduleSettings:
        named = [rule for group in self.groups.values() for rule in group.rules]
        twice = sorted({rule for rule in named if named.count(rule) > 1})
        if twice:
            raise ValueError(f"groups name {', '.join(twice)} twice")
        return self

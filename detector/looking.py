"""One scheduled run of a group of rules: which stretch it judges, from where, and what it leaves for the next run. Time is an argument (`clock`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from detector.config import Settings
from detector.errors import SourceError
from detector.pipeline import check
from detector.placing import Span
from detector.report import Report, blind_report
from detector.rules import Rule
from detector.scheduled import Audience, Run, run_once
from detector.sources.choice import open_source
from detector.storage.memory import LedgerMemory
from detector.storage.store import Store
from detector.window import MINUTE, Window
from detector.worker import Group


@dataclass
class Looking:
    """Looks at the configured log, once per call. `rules`: those of all groups; `log`: one line for stderr; `wait`: seconds for another's run to end."""

    settings: Settings
    rules: Sequence[Rule]
    store: Store
    audience: Audience
    clock: Callable[[], float]
    log: Callable[[str], None]
    one_shot: bool = False
    wait: float = 30.0

    def __post_init__(self) -> None:
        source = self.settings.source
        what = repr((source.path, source.url, source.cloud_id, source.index, source.mapping, source.format, source.timezone))
        reach = max((rule.baseline_minutes + rule.window_minutes for rule in self.rules), default=0) * MINUTE
        self.memory = LedgerMemory(self.store, what, source.lag, reach)

    def run(self, group: Group) -> Run:
        """One run of one group. Raises StoreError: nothing was sent then."""
        elsewhere = frozenset(rule.id for rule in self.rules) - {rule.id for rule in group.rules}
        run = run_once(
            lambda: self.report(group), group.rules, self.store, self.audience, self.clock, one_shot=self.one_shot, wait=self.wait, elsewhere=elsewhere
        )
        window = run.report.window
        again = any(entry.is_whole and not entry.lasting for entry in run.report.could_not)
        if not run.skipped and window is not None and not again:
            # only now: had we died before the incidents were kept, the next run would have to look as far back as this one
            self.store.keep_fact(f"looked.{group.name}", window.end)
        return run

    def report(self, group: Group) -> Report:
        """What the log shows now."""
        schedule, now = self.settings.schedule, self.clock()
        window = self.window(group, now)
        span = Span(start=window.start, end=window.end)
        try:
            sources = open_source(self.settings, None, jobs=1, format_of=None, span=span, rules=group.rules, now=now)
            return check(sources, group.rules, self.settings.signals.options(), span, now, memory=self.memory, deadline=schedule.deadline)
        except SourceError as error:
            return blind_report(window, error)

    def window(self, group: Group, now: float) -> Window:
        """The schedule's window, ending `source.lag` before now; longer after an outage, up to `catch_up`."""
        schedule = self.settings.schedule
        end = (now - self.settings.source.lag) // MINUTE * MINUTE  # whole minutes: the last one would be judged half full
        last = self.store.fact(f"looked.{group.name}")
        behind = end - float(last) if last is not None else 0.0
        longest = max(schedule.window, schedule.catch_up)
        if behind > longest:
            self.log(f"group {group.name}: nobody looked for {behind:.0f} s; only the last {longest:.0f} s are made up for (schedule.catch_up)")
        return Window(end - min(max(schedule.window, behind), longest), end)

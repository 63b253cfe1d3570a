"""Whatever two groups of a schedule see, in whatever order: what an incident may and may not do."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from detector.incident_reducer import advance
from detector.incidents import Incident, Policy
from detector.sources.base import CouldNot
from detector.window import MINUTE
from tests.incident_cases import T0, report
from tests.test_incidents import LEAK, LEVEL, finding, rule

RULES = {LEAK: rule(LEAK), LEVEL: rule(LEVEL)}
CALM = Policy().clean_seconds(RULES.values())
Step = tuple[str, str]
STEPS = st.lists(st.tuples(st.sampled_from([LEAK, LEVEL]), st.sampled_from(["fires", "clean", "clean", "blind", "tiny"])), min_size=1, max_size=60)


@given(STEPS)
def test_no_end_while_a_rule_fires_or_was_not_seen_clean(steps: list[Step]) -> None:
    """A step is ten minutes. An incident ends only in a run that looked, when each rule that fired has been seen clean for its time, unbroken by a run that
    could not look; and it is told once for each time that it opens."""
    incidents: tuple[Incident, ...] = ()
    fired_at: dict[str, float] = {}
    seen_since: dict[str, float | None] = {}
    opened = told = 0
    for number, (name, what) in enumerate(steps):
        at = T0 + 10 * MINUTE * number
        findings = (finding(at, name, severity="critical" if name == LEVEL else "warning"),) if what == "fires" else ()
        made = report(at, *findings, blind="down" if what == "blind" else "")
        if what == "tiny":  # another deployment that can't be judged: of no concern here
            made = replace(made, could_not=(CouldNot("rule", "few", "", False, rules=(name,), series=({"deployment": "tiny", "model": "m"},)),))
        if what == "fires":
            fired_at[name], seen_since[name] = at, at
        elif what == "blind":
            seen_since[name] = None
        elif name in fired_at and seen_since.get(name) is None:
            seen_since[name] = at
        before = {one.id: one for one in incidents}
        done = advance(incidents, made, [RULES[name]], at, elsewhere=frozenset(RULES) - {name})
        assert len([one for one in done.incidents if one.open]) <= 1
        assert advance(done.incidents, made, [RULES[name]], at, elsewhere=frozenset(RULES) - {name}).incidents == done.incidents
        for one in done.incidents:
            was = before.get(one.id)
            assert set(one.rules) <= set(RULES)
            if was is not None and was.open and not one.open:
                assert what not in ("fires", "blind")
                for other in was.rules:
                    since = seen_since[other]
                    assert since is not None
                    assert at - max(since, fired_at[other]) >= CALM
        opened = sum(one.opened for one in done.incidents)
        told += sum(change.kind in ("fired", "reopened") for change in done.changes)
        incidents = done.incidents
    assert told == opened

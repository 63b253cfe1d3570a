"""Incidents over time: a table of reports in, states and reasons out."""

from __future__ import annotations

import itertools
from dataclasses import replace

from detector.findings import Counted, Finding
from detector.folding import fold
from detector.incident_reducer import advance
from detector.incidents import Advanced, Change, Incident, Policy
from detector.notify.decision import change_key
from detector.report import Report
from detector.rules import Rule, load_rules
from detector.sources.base import CouldNot, Tally
from detector.window import MINUTE, Window

T0 = 1_800_000_000.0
RULES = {rule.id: rule for rule in load_rules()}


def rule(identifier: str, *, hold: int = 0, window: int = 15) -> Rule:
    """A shipped rule with another `for` and window."""
    return RULES[identifier].model_copy(update={"for_minutes": hold, "window_minutes": window})


def finding(
    at: float,
    identifier: str = "think_tag_leak",
    *,
    since: float | None = None,
    deployment: str = "chat",
    pod: str | None = None,
    severity: str = "warning",
    flagged: int = 5,
    incident: str = "a",
) -> Finding:
    """A finding that fires at `at`, since `since`."""
    labels: dict[str, str | None] = {"deployment": deployment, "model": "m"} | ({"pod": pod} if pod else {})
    counts = Counted(flagged, 1000, at - 15 * MINUTE, at)
    own = RULES[identifier]
    return Finding(
        identifier,
        own.title,
        severity,
        severity != "info",
        own.signal,
        labels,
        counts,
        (0.001, 0.01),
        None,
        9.0,
        3.0,
        at - 60,
        at,
        incident=incident,
        firing=(since if since is not None else at, at),
    )


def report(at: float, *findings: Finding, blind: str = "") -> Report:
    """A report whose window ends at `at`."""
    could_not = (CouldNot("the log", blind, "mend it"),) if blind else ()
    return Report(Window(at - 15 * MINUTE, at), Tally(requests=1000, records=1000), findings, could_not)


def play(
    steps: list[tuple[float, tuple[Finding, ...], str]], rules: list[Rule], policy: Policy | None = None
) -> list[tuple[float, list[Change], tuple[Incident, ...]]]:
    """Run the reducer over reports at minutes after T0."""
    incidents: tuple[Incident, ...] = ()
    out = []
    for minute, findings, blind in steps:
        at = T0 + minute * MINUTE
        done: Advanced = advance(incidents, report(at, *findings, blind=blind), rules, at, policy)
        incidents = done.incidents
        out.append((minute, list(done.changes), incidents))
    return out


def kinds(played: list[tuple[float, list[Change], tuple[Incident, ...]]]) -> list[tuple[float, str]]:
    """What was told, and when; edits left out."""
    return [(minute, change.kind) for minute, changes, _ in played for change in changes if change.kind != "updated"]


def firing(minute: float, **more: object) -> tuple[Finding, ...]:
    return (finding(T0 + minute * MINUTE, **more),)  # type: ignore[arg-type]  # the table's keywords are those of `finding`


def test_for_holds_back_until_it_has_fired_that_long() -> None:
    """Pending for ten minutes, then firing; a pending one that ends is dropped without a word."""
    rules = [rule("think_tag_leak", hold=10)]
    since = T0
    steps = [(m, firing(m, since=since), "") for m in (0, 5, 10)]
    assert kinds(play(steps, rules)) == [(10, "fired")]
    gone = play([(0, firing(0), ""), (5, (), ""), (10, firing(10), "")], rules)
    assert kinds(gone) == []


def test_for_survives_a_window_shorter_than_it() -> None:
    """Each run sees only its own last minutes; the incident remembers since when it fires."""
    played = play([(m, firing(m), "") for m in (0, 5, 10)], [rule("think_tag_leak", hold=10)])
    assert kinds(played) == [(10, "fired")]


def test_resolves_after_two_clean_windows_and_at_least_half_an_hour() -> None:
    """Clean from minute 0; thirty minutes later it is over."""
    played = play([(0, firing(0), ""), *((m, (), "") for m in (10, 20, 29, 30))], [rule("think_tag_leak", window=10)])
    assert kinds(played) == [(0, "fired"), (30, "resolved")]
    longer = play([(0, firing(0), ""), *((m, (), "") for m in (30, 119, 120))], [rule("think_tag_leak", window=60)])
    assert kinds(longer) == [(0, "fired"), (120, "resolved")]


def test_flapping_stays_one_incident() -> None:
    """On and off every ten minutes: fired once, never resolved in between."""
    steps = [(m, firing(m) if m % 20 == 0 else (), "") for m in range(0, 121, 10)]
    assert kinds(play(steps, [rule("think_tag_leak")])) == [(0, "fired")]


def test_what_could_not_be_looked_at_resolves_nothing() -> None:
    """Blind for hours: held, said once; afterwards the clean time begins anew."""
    steps = [(0, firing(0), ""), *((m, (), "no connection") for m in range(10, 200, 10)), (200, (), ""), (220, (), ""), (230, (), "")]
    played = play(steps, [rule("think_tag_leak")])
    assert kinds(played) == [(0, "fired"), (10, "blind"), (230, "resolved")]


def test_a_rule_that_broke_holds_only_its_own_incidents() -> None:
    """Another rule's trouble is not this incident's."""
    at = T0 + 40 * MINUTE
    opened = advance((), report(T0, finding(T0)), [rule("think_tag_leak"), rule("garbled_text_spike")], T0).incidents
    broken = replace(report(at), could_not=(CouldNot("rule garbled_text_spike", "it failed", "…", rules=("garbled_text_spike",)),))
    assert [change.kind for change in advance(opened, broken, list(RULES.values()), at + 12 * 3600).changes] == ["resolved"]
    longer = replace(report(at), could_not=(CouldNot("rule think_tag_leak_level", "it failed", "…", rules=("think_tag_leak_level",)),))
    assert [change.kind for change in advance(opened, longer, list(RULES.values()), at + 12 * 3600).changes] == ["resolved"]
    mine = replace(report(at), could_not=(CouldNot("rule think_tag_leak", "it failed", "…", blocking=False, rules=("think_tag_leak",)),))
    assert [change.kind for change in advance(opened, mine, list(RULES.values()), at + 12 * 3600).changes] == ["blind"]
    signal = replace(report(at), could_not=(CouldNot("signal think_leak", "no record shows it", "…", signals=("think_leak",)),))
    assert [change.kind for change in advance(opened, signal, list(RULES.values()), at + 12 * 3600).changes] == ["blind"]


def test_a_series_that_could_not_be_judged_holds_only_its_own_incidents() -> None:
    """A deployment with ten requests a day never has enough of them: it must not hold the incidents of the busy one for ever."""
    at = T0 + 12 * 3600
    opened = advance((), report(T0, finding(T0)), [rule("think_tag_leak")], T0).incidents
    for deployment, kind in (("tiny", "resolved"), ("chat", "blind")):
        gap = CouldNot("rule think_tag_leak for …", "few requests", "…", False, rules=("think_tag_leak",), series=({"deployment": deployment, "model": "m"},))
        assert [change.kind for change in advance(opened, replace(report(at), could_not=(gap,)), [rule("think_tag_leak")], at).changes] == [kind]


def test_a_trifle_that_could_not_be_read_holds_nothing() -> None:
    """One broken line among thousands stays in the log for good."""
    at = T0 + 12 * 3600
    opened = advance((), report(T0, finding(T0)), [rule("think_tag_leak")], T0).incidents
    for slight, kind in ((True, "resolved"), (False, "blind")):
        broken = replace(report(at), could_not=(CouldNot("1 unreadable line", "broken JSON", "…", slight=slight),))
        assert [change.kind for change in advance(opened, broken, [rule("think_tag_leak")], at).changes] == [kind]


def test_many_rules_and_pods_of_one_incident_fold() -> None:
    """Three rules on four pods: one incident, told once."""
    group = tuple(
        finding(T0, identifier, pod=f"p{pod}", incident="a")
        for identifier in ("think_tag_leak", "finish_reason_length_spike", "empty_content_spike")
        for pod in range(4)
    )
    played = play([(0, group, "")], [rule(identifier) for identifier in ("think_tag_leak", "finish_reason_length_spike", "empty_content_spike")])
    assert kinds(played) == [(0, "fired")]
    assert len(played[0][2]) == 1


def test_order_of_findings_does_not_matter() -> None:
    """Any order gives the same incidents and changes."""
    group = [
        finding(T0),
        finding(T0, "finish_reason_length_spike"),
        finding(T0, deployment="other", incident="b"),
        finding(T0, "garbled_text_spike", incident="c"),
    ]
    results = {repr(advance((), report(T0, *order), list(RULES.values()), T0)) for order in itertools.permutations(group)}
    assert len(results) == 1


def test_a_signal_that_joins_later_stays_in_its_incident() -> None:
    """The leak first, the cut-off later: the same id, told as growth."""
    rules = [rule("think_tag_leak"), rule("finish_reason_length_spike")]
    both = (*firing(5), *firing(5, identifier="finish_reason_length_spike"))
    played = play([(0, firing(0), ""), (5, both, ""), (10, firing(10, identifier="finish_reason_length_spike"), "")], rules)
    assert kinds(played) == [(0, "fired"), (5, "grew")]
    assert len(played[-1][2]) == 1


def test_rising_severity_is_an_escalation() -> None:
    """From warning to critical."""
    rules = [rule("think_tag_leak"), rule("think_tag_leak_level")]
    played = play([(0, firing(0), ""), (5, (*firing(5), *firing(5, identifier="think_tag_leak_level", severity="critical")), "")], rules)
    assert kinds(played) == [(0, "fired"), (5, "escalated")]


def test_comes_back_within_a_day_as_the_same_incident() -> None:
    """Reopened with its history, not a second one."""
    played = play([(0, firing(0), ""), (40, (), ""), (80, firing(80), "")], [rule("think_tag_leak")])
    assert kinds(played) == [(0, "fired"), (40, "resolved"), (80, "reopened")]
    (incident,) = played[-1][2]
    assert incident.opened == 2
    assert any("opened again" in what for _, what in incident.history)


def test_ids_do_not_depend_on_counts() -> None:
    """No number or text of the log in the identity."""
    ids = {advance((), report(T0 + i, finding(T0 + i, flagged=i + 3)), list(RULES.values()), T0 + i).incidents[0].id for i in range(5)}
    assert len(ids) == 1


def test_info_findings_open_nothing() -> None:
    """A chronic level is a report line."""
    assert advance((), report(T0, finding(T0, severity="info")), list(RULES.values()), T0).incidents == ()


def test_critical_and_untaken_is_said_again_after_four_hours() -> None:
    """A reminder, unless someone took it."""
    rules = [rule("think_tag_leak_level")]
    steps = [(m, firing(m, identifier="think_tag_leak_level", severity="critical", since=T0), "") for m in range(0, 500, 60)]
    assert kinds(play(steps, rules)) == [(0, "fired"), (240, "reminder"), (480, "reminder")]
    taken = [replace(incident, acked_by="me", acked_at=T0) for incident in advance((), report(T0, *steps[0][1]), rules, T0).incidents]
    later = T0 + 300 * MINUTE
    assert [
        change.kind for change in advance(taken, report(later, *firing(300, identifier="think_tag_leak_level", severity="critical")), rules, later).changes
    ] == ["updated"]


def test_running_twice_changes_nothing() -> None:
    """The same window judged again (two cron jobs, a restart) tells nothing new."""
    rules = [rule("think_tag_leak")]
    once = advance((), report(T0, finding(T0)), rules, T0)
    again = advance(once.incidents, report(T0, finding(T0)), rules, T0)
    assert again.incidents == once.incidents
    assert again.changes == ()


def test_an_outage_that_began_and_ended_unseen_is_told_once() -> None:
    """Catch-up: it fired and stopped while nobody looked; one message, then it resolves."""
    at = T0 + 60 * MINUTE
    past = replace(finding(T0 + 10 * MINUTE), counts=Counted(5, 1000, T0, at))
    played = advance((), report(at, past), [rule("think_tag_leak")], at)
    assert [change.kind for change in played.changes] == ["fired"]
    (incident,) = played.incidents
    assert incident.clean_from == T0 + 10 * MINUTE
    assert [change.kind for change in advance(played.incidents, report(at + 60), [rule("think_tag_leak")], at + 60).changes] == ["resolved"]


def test_a_run_of_other_rules_ends_nothing() -> None:
    """Groups of a schedule share incidents; each run looks at its own rules only."""
    rules = [rule("garbled_text_spike")]
    opened = advance((), report(T0, finding(T0)), [rule("think_tag_leak")], T0).incidents
    later = T0 + 24 * 3600
    assert advance(opened, report(later), rules, later, elsewhere=frozenset({"think_tag_leak"})).changes == ()
    assert [change.kind for change in advance(opened, report(later), rules, later).changes] == ["resolved"]  # its rule is gone for good


def groups(steps: list[tuple[float, str, tuple[Finding, ...], str]], ours: dict[str, Rule]) -> list[tuple[float, str]]:
    """Runs of groups of one rule each: (minute, rule, findings, why it was blind)."""
    incidents: tuple[Incident, ...] = ()
    out = []
    for minute, name, findings, why in steps:
        at = T0 + minute * MINUTE
        done = advance(incidents, report(at, *findings, blind=why), [ours[name]], at, elsewhere=frozenset(ours) - {name})
        incidents = done.incidents
        out += [(minute, change.kind) for change in done.changes if change.kind != "updated"]
    return out


SPIKE, LEAK, LEVEL = "finish_reason_length_spike", "think_tag_leak", "think_tag_leak_level"


def test_an_incident_of_two_groups_ends_when_both_have_seen_it_clean() -> None:
    """One group's clean look is no end while the other one's source is down, or has not looked yet."""
    ours = {LEVEL: rule(LEVEL), LEAK: rule(LEAK)}
    begin: list[tuple[float, str, tuple[Finding, ...], str]] = [(0, name, firing(0, identifier=name), "") for name in ours]
    told = [(0, "fired"), (0, "grew")]
    # seen by both, one after the other
    steps = [*begin, *((m, name, (), "") for m in range(5, 65, 5) for name in ours)]
    assert groups(steps, ours) == [*told, (30, "resolved")]
    # the other one is blind
    blind = [*begin, *((m, name, (), "down" if name == LEAK else "") for m in range(5, 605, 5) for name in ours)]
    assert groups(blind, ours) == [*told, (5, "blind")]
    # the other one looks once a day
    seldom = [*begin, *((m, LEVEL, (), "") for m in range(5, 24 * 60, 5)), (24 * 60, LEAK, (), "")]
    assert groups(seldom, ours) == [*told, (24 * 60, "resolved")]


def test_a_pending_incident_is_not_dropped_by_a_group_that_does_not_judge_it() -> None:
    """`for` is half an hour; the other group's clean looks do not break it."""
    ours = {LEVEL: rule(LEVEL, hold=30), LEAK: rule(LEAK, hold=30)}
    steps = [(0.0, name, firing(0, identifier=name), "") for name in ours]
    steps += [(m, name, firing(m) if name == LEAK else (), "") for m in range(5, 35, 5) for name in ours]
    assert groups(steps, ours) == [(30, "fired")]


def test_a_rule_joins_only_after_its_for() -> None:
    """A critical rule that asks for ten minutes escalates nothing at its first alarm, nor when it was broken off in between."""
    rules = [rule(LEAK), rule(LEVEL, hold=10)]

    def step(minute: float, *, critical: bool) -> tuple[float, tuple[Finding, ...], str]:
        return minute, (*firing(minute), *(firing(minute, identifier=LEVEL, severity="critical") if critical else ())), ""

    played = play([step(0, critical=False), *(step(m, critical=True) for m in (5, 10, 15))], rules)
    assert kinds(played) == [(0, "fired"), (15, "escalated")]
    broken = play([step(0, critical=False), step(5, critical=True), step(10, critical=False), step(15, critical=True), step(20, critical=True)], rules)
    assert kinds(broken) == [(0, "fired")]
    assert {incident.severity for _, _, incidents in broken for incident in incidents} == {"warning"}


def test_what_fired_for_less_than_its_for_and_is_over_is_nothing() -> None:
    """It stands in the window of the next runs; it opens nothing, and keeps nothing pending."""
    blip = finding(T0, LEVEL, since=T0)
    (_, changes, incidents), *_ = play([(20, (blip,), "")], [rule(LEVEL, hold=10)])
    assert (changes, incidents) == ([], ())


def test_a_part_that_ended_leaves_the_incident() -> None:
    """Pods that are well again, a rule that is clean again: figures and severity are those of what goes on. Worse again, it is told again."""
    rules = [rule(LEAK), rule(LEVEL)]

    def step(minute: float, *, critical: bool) -> tuple[float, tuple[Finding, ...], str]:
        worse = firing(minute, identifier=LEVEL, severity="critical", flagged=400) if critical else ()
        return minute, (*firing(minute, pod="p2"), *(firing(minute, pod="p1", flagged=300) if minute == 0 else ()), *worse), ""

    played = play([step(0, critical=True), *(step(m, critical=False) for m in range(5, 65, 5)), step(65, critical=True)], rules)
    assert kinds(played) == [(0, "fired"), (65, "escalated")]
    (before,), (after,) = played[-2][2], played[-1][2]
    assert [(one.labels["pod"], one.counts.flagged) for one in before.findings] == [("p2", 5)]
    assert (before.severity, before.rules, before.peak_flagged) == ("warning", (LEAK,), 400)
    assert (after.severity, after.rules) == ("critical", (LEAK, LEVEL))
    assert "severity fell to warning" in [what for _, what in after.history]


def test_no_reminder_once_the_critical_part_is_over() -> None:
    """ "Critical for 8 h" must be true."""
    rules = [rule(LEAK), rule(LEVEL)]
    first = (*firing(0), *firing(0, identifier=LEVEL, severity="critical"))
    assert kinds(play([(0, first, ""), *((m, firing(m), "") for m in range(30, 600, 30))], rules)) == [(0, "fired")]


def test_escalating_twice_are_two_decisions() -> None:
    """The outbox must not take the second for the first."""
    rules = [rule(LEAK), rule(LEVEL)]
    both = [(m, (*firing(m), *(firing(m, identifier=LEVEL, severity="critical") if m in (5, 65) else ())), "") for m in range(0, 70, 5)]
    keys = [change_key(change, T0) for _, changes, _ in play(both, rules) for change in changes if change.kind == "escalated"]
    assert len(keys) == 2
    assert len(set(keys)) == 2


def test_what_can_be_looked_at_again_is_shown_though_nothing_is_told() -> None:
    """The grey parent gets its colour back when the first look is clean: an edit, which wakes nobody."""
    played = play([(0, firing(0), ""), (5, (), "down"), (10, (), "")], [rule(LEAK)])
    assert [change.kind for change in played[-1][1]] == ["updated"]
    assert [incident.blind_since for incident in played[-1][2]] == [None]


def test_totals_count_each_minute_once() -> None:
    """Windows overlap; pods of one rule share no request; two rules may count the same ones."""
    minute = int(T0 // MINUTE)

    def seen(at: int) -> tuple[Finding, ...]:
        hits = tuple((minute + back, 2) for back in range(at - 15, at) if back >= 0)
        return tuple(replace(one, hits=hits) for pod in ("p1", "p2") for one in firing(at, pod=pod)) + tuple(
            replace(one, hits=hits) for one in firing(at, identifier=SPIKE)
        )

    played = play([(m, seen(m), "") for m in (5, 10, 15, 20, 40)], [rule(LEAK), rule(SPIKE)])
    (incident,) = played[-1][2]
    assert incident.total_flagged == 2 * 2 * (20 + 15)
    assert all(one.hits == () for one in incident.findings)


def test_whoever_took_a_part_has_taken_the_whole() -> None:
    """Two incidents turn out to be one: that a person took the second is kept."""
    rules = [rule(LEAK), rule("garbled_text_spike")]
    apart = (*firing(0), *firing(0, identifier="garbled_text_spike", incident="b"))
    opened = advance((), report(T0, *apart), rules, T0).incidents
    taken = [replace(one, acked_by="kim") if "garbage" in one.signals else one for one in opened]
    at = T0 + 5 * MINUTE
    done = advance(taken, report(at, *firing(5), *firing(5, identifier="garbled_text_spike")), rules, at)
    assert [one.acked_by for one in done.incidents if one.open] == ["kim"]


def test_without_a_deployment_each_model_is_a_place_of_its_own() -> None:
    """The log names none: two models with the same trouble are two incidents, called by their models; pods of one are one."""

    def bare(at: float, model: str, *pods: str) -> list[Finding]:
        return [replace(finding(at), labels={"deployment": None, "model": model, "pod": pod}) for pod in pods]

    rules = [rule(LEAK)]
    found = fold([*bare(T0, "a", "p1", "p2"), *bare(T0, "b", "p3")])
    done = advance((), report(T0, *found), rules, T0)
    assert sorted((one.where, len(one.findings)) for one in done.incidents) == [("a", 2), ("b", 1)]
    again = advance(done.incidents, report(T0 + 300, *fold(bare(T0 + 300, "b", "p4"))), rules, T0 + 300)
    assert {one.id for one in again.incidents} == {one.id for one in done.incidents}
    nameless = fold([replace(finding(T0), labels={"pod": "p"})])
    assert [one.where for one in advance((), report(T0, *nameless), rules, T0).incidents] == [""]


def test_what_a_person_closed_opens_again_when_it_gets_worse_or_goes_on() -> None:
    """Windows look back, so it may fire on for a while; but nobody has seen the critical rule yet."""
    rules = [rule(LEAK), rule(LEVEL)]
    opened = advance((), report(T0, *firing(0)), rules, T0).incidents
    closed = tuple(replace(incident, state="resolved", resolved_at=T0, closed_by="mina") for incident in opened)
    for minute, worse, expected in ((5, False, []), (5, True, ["reopened"]), (35, False, ["reopened"])):
        findings = (*firing(minute), *(firing(minute, identifier=LEVEL, severity="critical") if worse else ()))
        done = advance(closed, report(T0 + minute * MINUTE, *findings), rules, T0 + minute * MINUTE)
        assert [change.kind for change in done.changes] == expected

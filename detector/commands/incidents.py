"""`detector incidents`: what is open, and what to do about it: list, show, ack, snooze, silence, unsilence, silences, resolve."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from detector.arguments import add_config, add_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detector.incidents import Incident
    from detector.storage.store import Store

OK, NOTHING = 0, 1


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `incidents` and its verbs."""
    parser = commands.add_parser(
        "incidents",
        help="what is open, and what to do about it",
        description="Look at incidents, take them, or keep them quiet for a time.",
        epilog="Exit codes: 0 shown or done, 1 there is no such incident or silence, 2 the store or the configuration can't be used.",
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    def verb(name: str, text: str, run: Any, *, shows: bool = False) -> argparse.ArgumentParser:
        sub = verbs.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
        add_config(sub)
        if shows:
            add_format(sub, "text", "json")
        sub.set_defaults(run=run)
        return sub

    listing = verb("list", "open incidents, worst first", _list, shows=True)
    listing.add_argument("--all", action="store_true", help="resolved ones too")
    verb("show", "one incident with its history", _show, shows=True).add_argument("id", metavar="ID")
    for name, text, run in (("ack", "take an incident: its reminders stop", _ack), ("resolve", "declare an incident over", _resolve)):
        sub = verb(name, text, run)
        sub.add_argument("id", metavar="ID")
        sub.add_argument("--by", metavar="NAME", help="who (default: the user's name)")
    snooze = verb("snooze", "say nothing of an incident for a time, except that it resolved", _snooze)
    snooze.add_argument("id", metavar="ID")
    snooze.add_argument("--for", dest="duration", metavar="DURATION", default="4h", help="how long (default: %(default)s)")
    snooze.add_argument("--by", metavar="NAME", help="who (default: the user's name)")
    silence = verb("silence", "keep all incidents quiet that match, for a time", _silence)
    silence.add_argument("matchers", nargs="+", metavar="MATCHER", help="LABEL=VALUE, LABEL!=VALUE, LABEL=~PATTERN or LABEL!~PATTERN; all must hold")
    silence.add_argument("--for", dest="duration", metavar="DURATION", default="4h", help="how long (default: %(default)s)")
    silence.add_argument("--from", dest="start", metavar="TIME", help="start, ISO 8601 (default: now)")
    silence.add_argument("--comment", required=True, help="why: the next person will ask")
    silence.add_argument("--by", metavar="NAME", help="who (default: the user's name)")
    unsilence = verb("unsilence", "end a silence now", _unsilence)
    unsilence.add_argument("number", type=int, metavar="NUMBER")
    unsilence.add_argument("--by", metavar="NAME", help="who (default: the user's name)")
    verb("silences", "silences that are in force or to come", _silences, shows=True).add_argument("--all", action="store_true", help="ended ones too")
    outbox = verb("outbox", "messages that wait to be delivered, and why", _outbox, shows=True)
    outbox.add_argument("--drop", metavar="RECEIVER", help="give up what waits for a receiver (one that is configured no more)")
    outbox.add_argument("--by", metavar="NAME", help="who (default: the user's name)")


def _open(args: argparse.Namespace) -> closing[Store]:
    from detector.config import load_settings
    from detector.errors import StoreError
    from detector.storage.store import Store

    settings = load_settings(args.config, os.environ)
    file = settings.store.partition("sqlite:///")[2]
    if file and args.verb != "silence" and not os.path.exists(file):
        raise StoreError(f"there is no store at {file}: is this the right folder, or --config missing? (`check --notify` and `run` make it)")
    return closing(Store(settings.store, settings.secrets.store_password))


def _list(args: argparse.Namespace) -> int:
    from detector.findings import SEVERITIES
    from detector.render.inert import plain
    from detector.render.numbers import clock, rate_line

    with _open(args) as store:
        found = store.incidents(only_open=not args.all)
    now = time.time()
    found.sort(key=lambda incident: (not incident.open, -SEVERITIES.index(incident.severity), -incident.since))
    if args.format == "json":
        print(json.dumps([_data(incident) for incident in found], ensure_ascii=False, indent=1))
        return OK
    for incident in found:
        taken = f", taken by {plain(incident.acked_by, 40)}" if incident.acked_by else ""
        if incident.open and incident.snoozed_until is not None and incident.snoozed_until > now:
            taken += f", snoozed until {clock(incident.snoozed_until)} UTC"
        where = plain(incident.where or "all", 60)
        print(f"{incident.id}  {incident.severity.upper():8}  {incident.state}{taken}  {where}  since {clock(incident.since)} UTC")
        if incident.findings:
            print(f"    {incident.title}: {rate_line(incident.findings[0])}")
    if not found:
        print("no incident is open" if not args.all else "no incident is known")
    return OK


def _show(args: argparse.Namespace) -> int:
    from detector.render.inert import plain
    from detector.render.numbers import clock, rate_line, several

    with _open(args) as store:
        found = next((incident for incident in store.incidents() if incident.id == args.id), None)
        if found is None:
            return _unknown(args.id, "incident")
        audited = store.audited(found.id)
    if args.format == "json":
        print(json.dumps(_data(found), ensure_ascii=False, indent=1))
        return OK
    print(f"{found.id}  {found.severity.upper()}  {found.state}  {plain(found.where or 'all', 60)}")
    print(f"  {found.title}")
    print(f"  since {clock(found.since)} UTC, last seen firing {clock(found.active_at)} UTC, opened {several(found.opened, 'time')}")
    if found.blind_since is not None:
        print(f"  could not be looked at since {clock(found.blind_since)} UTC: {plain(found.blind_why, 300)}")
    for finding in found.findings:
        name = " / ".join(plain(value, 60) for value in finding.labels.values() if value)
        print(f"  {finding.rule}  {name}: {rate_line(finding)}")
        if finding.request_ids:
            print(f"      requests {', '.join(plain(request_id, 60) for request_id in finding.request_ids)}")
    for at, actor, action, _, detail in audited:
        print(f"  {clock(at, seconds=True)} UTC  {action}  by {plain(actor, 40)}  {plain(detail, 200)}")
    return OK


def _ack(args: argparse.Namespace) -> int:
    return _answer(args, "ack")


def _resolve(args: argparse.Namespace) -> int:
    return _answer(args, "resolve")


def _snooze(args: argparse.Namespace) -> int:
    from detector.window import seconds

    return _answer(args, "snooze", until=time.time() + seconds(args.duration))


def _answer(args: argparse.Namespace, action: str, until: float | None = None) -> int:
    """Apply what a person said; the receivers hear of it at the next run."""
    from detector.notify.base import Heard
    from detector.scheduled import answer

    with _open(args) as store:
        incident = answer(store, Heard(args.id, action, _who(args), until), time.time())
    if incident is None:
        return _unknown(args.id)
    done = {"ack": "taken", "snooze": "snoozed", "resolve": "resolved"}[action]
    print(f"{incident.id}: {done} by {_who(args)}; receivers hear of it at the next run")
    if action == "resolve":
        print("  It opens again if it still fires after `incidents.shortest_clean`, and at once if it gets more severe.")
    return OK


def _silence(args: argparse.Namespace) -> int:
    from detector.errors import ConfigError
    from detector.render.numbers import several
    from detector.storage.silences import covers, matcher
    from detector.window import instant, iso, seconds

    if not args.comment.strip():
        raise ConfigError("--comment: is blank: say why, the next person will ask")
    matchers = [matcher(text) for text in args.matchers]
    now = time.time()
    start = instant(args.start) if args.start else now
    end = start + seconds(args.duration)
    if end <= now:
        raise ConfigError(f"the silence would have ended already, at {iso(round(end))}: choose a later --from or a longer --for")
    with _open(args) as store:
        number = store.silence(matchers, args.comment, _who(args), now, start, end)
        concerned = sum(covers(incident, matchers) for incident in store.incidents(only_open=True))
    print(f"silence {number} from {iso(round(start))} to {iso(round(end))}: {_shown(matchers)}; it matches {several(concerned, 'open incident')}")
    return OK


def _unsilence(args: argparse.Namespace) -> int:
    with _open(args) as store:
        ended = store.expire_silence(args.number, _who(args), time.time())
    if not ended:
        print(f"detector: there is no silence {args.number} in force (detector incidents silences)", file=sys.stderr)
        return NOTHING
    print(f"silence {args.number} has ended")
    return OK


def _silences(args: argparse.Namespace) -> int:
    from detector.render.inert import plain
    from detector.window import iso

    now = time.time()
    with _open(args) as store:
        found = [silence for silence in store.silences() if args.all or silence.expires_at > now]
        audited = {silence.id: store.audited(str(silence.id)) for silence in found}
    if args.format == "json":
        print(json.dumps([{**silence.__dict__} for silence in found], ensure_ascii=False, indent=1))
        return OK
    for silence in found:
        span = f"from {iso(round(silence.starts_at))} until {iso(round(silence.expires_at))}{'' if silence.expires_at > now else ', ended'}"
        print(f"{silence.id}  {span}  {_shown(silence.matchers)}  by {plain(silence.created_by, 40)}: {plain(silence.comment)}")
        for at, actor, action, _, _ in audited[silence.id]:
            if action == "unsilence":
                print(f"    ended by {plain(actor, 40)} at {iso(round(at))}")
    if not found:
        print("nothing is silenced")
    return OK


def _outbox(args: argparse.Namespace) -> int:
    from detector.render.inert import plain
    from detector.render.numbers import clock, several

    with _open(args) as store:
        if args.drop:
            print(f"{several(store.drop(args.drop, _who(args), time.time()), 'message')} for {plain(args.drop)} dropped")
            return OK
        found = store.waiting()
    if args.format == "json":
        shown = [{"receiver": one.receiver, "incident": one.incident_id, "kind": one.kind, "attempts": one.attempts, "error": one.error} for one in found]
        print(json.dumps(shown, ensure_ascii=False, indent=1))
        return OK
    for one in found:
        state = f"decided {clock(one.created_at)} UTC, {one.attempts} attempts: {plain(one.error or 'not yet sent')}"
        print(f"{one.id}  {one.receiver}  {one.kind}  {one.incident_id}  {state}")
    if not found:
        print("nothing waits")
    return OK


def _who(args: argparse.Namespace) -> str:
    from detector.render.inert import plain

    return plain(args.by or getpass.getuser())


def _shown(matchers: Sequence[dict[str, str]]) -> str:
    from detector.render.inert import plain

    return plain(" and ".join(f"{one['label']}{one['op']}{one['value']}" for one in matchers))


def _unknown(identifier: str, kind: str = "open incident") -> int:
    from detector.render.inert import plain

    print(f"detector: there is no such {kind}: {plain(identifier, 60)} (detector incidents list --all)", file=sys.stderr)
    return NOTHING


def _data(incident: Incident) -> dict[str, Any]:
    from detector.notify.base import Telling
    from detector.notify.summary import as_data

    data = as_data(Telling("show", "", incident.active_at, incident), "")
    return {**data["incident"], "snoozed_until": incident.snoozed_until, "history": [list(entry) for entry in incident.history], "findings": data["findings"]}

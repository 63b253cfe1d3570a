"""The store on SQLite and on a real PostgreSQL: the lease dies with its holder, old databases are upgraded, several processes are safe."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
import sqlalchemy as sa

from detector.errors import StoreError
from detector.incident_reducer import advance
from detector.notify.base import Route
from detector.notify.slack import SlackReceiver
from detector.scheduled import Audience, run_once
from detector.storage import tables
from detector.storage.silences import matcher
from detector.storage.store import Store
from tests.incident_cases import RULES, T0, finding, fired, report
from tests.servers.postgres import postgres
from tests.servers.required import ServerMissingError, missing
from tests.servers.slack import CHANNEL, TOKEN, Workspace, slack

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A real PostgreSQL."""
    try:
        context = postgres()
        url = context.__enter__()
    except ServerMissingError as error:
        missing(error)
    yield url
    context.__exit__(None, None, None)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/detector.db"
    base: str = request.getfixturevalue("server")
    name = f"t{time.monotonic_ns()}"
    engine = sa.create_engine(base, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return base.rpartition("/")[0] + f"/{name}"


# -- the lease
def hold(url: str, held: Event, seconds: float) -> None:
    """A worker that takes the lease and works for a while."""
    with Store(url).exclusive() as mine:
        assert mine
        held.set()
        time.sleep(seconds)


def test_the_lease_is_held_by_one(url: str) -> None:
    """Another one waits as long as it is told to, and no longer."""
    first, second = Store(url), Store(url)
    with first.exclusive() as one, second.exclusive(0.2) as two:
        assert (one, two) == (True, False)
    with second.exclusive(0.2) as two:
        assert two
    first.close()
    second.close()


def test_the_lease_dies_with_its_process(url: str) -> None:
    """Killed while it works: the next one goes on at once, without a time-out."""
    store = Store(url)
    held = SPAWN.Event()
    worker = SPAWN.Process(target=hold, args=(url, held, 60.0))
    worker.start()
    assert held.wait(60)
    with store.exclusive(0.2) as mine:
        assert not mine
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    with store.exclusive(10.0) as mine:
        assert mine
    store.close()


@pytest.mark.postgresql
def test_a_worker_whose_connection_died_sends_no_more(server: str, tmp_path: Path) -> None:
    """The lock is gone with the connection; another worker may be at it. What is not sent stays in the outbox."""
    with slack() as (api, state):
        store = Store(server)
        receiver = SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=api)

        def cut_off() -> object:
            engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"
                assert connection.scalar(sa.text(cut)) == 1
            engine.dispose()
            return report(T0, finding(T0))

        audience = Audience({"slack": receiver}, lambda incident: Route(("slack",)))
        with pytest.raises(StoreError, match="held the lease is gone"):
            run_once(cut_off, list(RULES.values()), store, audience, time.time)  # type: ignore[arg-type]  # it is a report
        assert state.messages == []
        assert len(store.waiting()) == 1
        assert run_once(lambda: report(T0, finding(T0)), list(RULES.values()), store, audience, time.time).exit_code == 1
        assert len(state.parents()) == 1
        store.close()


# -- several processes
def work(url: str, api: str, start: Event, runs: int) -> None:
    """A worker that makes some runs."""
    store = Store(url)
    receiver = SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=api)
    audience = Audience({"slack": receiver}, lambda incident: Route(("slack",)))
    start.wait(60)
    for _ in range(runs):
        run_once(lambda: report(T0, finding(T0), finding(T0, deployment="b", incident="b")), list(RULES.values()), store, audience, time.time, wait=60.0)


def test_three_workers_and_a_person_at_once(url: str) -> None:
    """Each incident is told once; no process fails."""
    with slack() as (api, state):
        start = SPAWN.Event()
        workers = [SPAWN.Process(target=work, args=(url, api, start, 4)) for _ in range(3)]
        for worker in workers:
            worker.start()
        store = Store(url)
        start.set()
        for number in range(10):
            store.silence([matcher(f"deployment=x{number}")], "works", "me", T0, T0, T0 + 60)
            store.incidents()
        for worker in workers:
            worker.join(120)
        assert [worker.exitcode for worker in workers] == [0, 0, 0]
        assert len(state.parents()) == 2
        assert len(state.messages) == 4
        assert len(store.silences()) == 10
        assert store.waiting() == []
        store.close()


def test_many_processes_make_the_tables_at_once(url: str) -> None:
    """A first start of several workers."""
    code = "import sys; from detector.storage.store import Store; print(len(Store(sys.argv[1]).incidents()))"
    processes = [subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [(process.returncode, out.strip()) for process, (out, _) in zip(processes, outputs, strict=True)] == [(0, "0")] * 3, outputs


def kill_within(url: str, api: str, where: str) -> None:
    """A run that is killed before or after a message is recorded."""
    from tests.crash_child import DyingStore

    store = DyingStore(url)
    store.step = where
    receiver = SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=api)
    run_once(lambda: report(T0, finding(T0)), list(RULES.values()), store, Audience({"slack": receiver}, lambda incident: Route(("slack",))), time.time)


@pytest.mark.postgresql
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("step", ["before decide", "amid persist", "after persist", "after claim", "before record", "after record"])
def test_killed_on_postgresql(step: str, url: str) -> None:
    """A sample of the crash matrix on the other database."""
    with slack() as (api, state):
        worker = SPAWN.Process(target=kill_within, args=(url, api, step))
        worker.start()
        worker.join(120)
        assert worker.exitcode == -signal.SIGKILL
        store = Store(url)
        receiver = SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=api)
        done = run_once(
            lambda: report(T0, finding(T0)), list(RULES.values()), store, Audience({"slack": receiver}, lambda incident: Route(("slack",))), time.time
        )
        assert (done.exit_code, store.waiting()) == (1, [])
        _holds_one(state)
        store.close()


def _holds_one(state: Workspace) -> None:
    (parent,) = state.parents()
    assert len(state.replies(parent)) == 1
    assert len(state.messages) == 2


# -- migrations
def test_tables_are_as_the_migrations_make_them(url: str) -> None:
    """What the code says and what the migrations made do not drift apart."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    Store(url).close()
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), tables.metadata) == []
    engine.dispose()


def test_an_old_database_is_upgraded(tmp_path: Path) -> None:
    """A file of the first version, with an incident and a message that was tried: both are there, and the message is looked up from when it was decided."""
    path = tmp_path / "detector.db"
    old = sqlite3.connect(path)
    old.executescript((Path(__file__).parent / "data" / "store_0001.sql").read_text())
    old.close()
    store = Store(f"sqlite:///{path}")
    assert [incident.deployment for incident in store.incidents()] == ["chat"]
    (message,) = store.waiting()
    assert (message.attempts, message.tried_at) == (1, T0)
    assert store.told("slack")[store.incidents()[0].id].opened == 1
    store.close()


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    """An old program does not write into what it does not know."""
    path = tmp_path / "detector.db"
    Store(f"sqlite:///{path}").close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="newer version"):
        Store(f"sqlite:///{path}")


def test_looking_does_not_wait_for_a_run(url: str) -> None:
    """`incidents list` while a long run holds the lease."""
    store = Store(url)
    with store.exclusive():
        began = time.monotonic()
        other = Store(url)
        assert other.incidents() == []
        assert time.monotonic() - began < 25  # a run may wait for 30
        other.close()
    store.close()


def test_an_incident_comes_back_as_it_was_kept(url: str) -> None:
    store = Store(url)
    kept = fired(finding(T0))
    with store.transaction() as connection:
        store.save(connection, [kept])
    assert store.incidents() == [kept]
    store.close()


@pytest.mark.parametrize("address", ["sqlite:////nowhere/at/all/x.db", "postgresql+psycopg://u@127.0.0.1:9/x", "mysql://u@h/x", "nonsense"])
def test_a_store_that_cannot_be_opened_says_so(address: str) -> None:
    with pytest.raises(StoreError, match="store"):
        Store(address, "s3cret")


def test_an_incident_of_an_older_version_is_read(tmp_path: Path) -> None:
    """What it did not know yet has its default; the incident goes on."""
    store = Store(f"sqlite:///{tmp_path}/d.db")
    old = fired(finding(T0))
    with store.transaction() as connection:
        store.save(connection, [old])
        body = json.loads(connection.scalar(sa.text("SELECT body FROM incident")))  # type: ignore[arg-type]  # a text
        for name in ("clean", "hidden", "totals", "begun", "eased"):
            del body[name]
        for one in body["findings"]:
            del one["hits"], one["rule_digest"]
        connection.execute(sa.text("UPDATE incident SET body = :body"), {"body": json.dumps(body)})
    (kept,) = store.incidents()
    assert kept == replace(old, totals={})
    done = advance([kept], report(T0 + 86400), list(RULES.values()), T0 + 86400)
    assert [change.kind for change in done.changes] == ["resolved"]
    store.close()


def test_another_programs_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE album (title TEXT)")
    connection.commit()
    with pytest.raises(StoreError, match=r"another program's database \(table album\)"):
        Store(f"sqlite:///{path}")
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("album",)]
    connection.close()

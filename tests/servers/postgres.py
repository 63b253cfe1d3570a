"""A real PostgreSQL, with a data folder and a port of its own, run as a plain user (it refuses to run as root)."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.servers.required import ServerMissingError, free_port, note_ran


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a fresh server (`postgresql+psycopg://detector@127.0.0.1:PORT/postgres`). Raises ServerMissingError."""
    folder = Path(tempfile.mkdtemp(prefix="detector-postgres-"))
    user = _plain_user()
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o700)
    data, port = folder / "data", free_port()
    control = _program("pg_ctl")
    try:
        _run([_program("initdb"), "-D", str(data), "-U", "detector", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"], user, folder)
        options = f"-h 127.0.0.1 -p {port} -c fsync=off -c unix_socket_directories={folder} -c max_connections=40 -c shared_buffers=16MB"
        _run([control, "-D", str(data), "-w", "-t", "60", "-l", str(folder / "log"), "-o", options, "start"], user, folder)
        note_ran("postgresql", control)
        try:
            yield f"postgresql+psycopg://detector@127.0.0.1:{port}/postgres"
        finally:
            _run([control, "-D", str(data), "-w", "-m", "immediate", "stop"], user, folder)  # by the process id in its own data folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _plain_user() -> pwd.struct_passwd | None:
    """Whom to run as: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServerMissingError("postgresql: it refuses to run as root, and there is neither a user postgres nor nobody")


def _program(name: str) -> str:
    """From Debian's folder first: what stands in the path may be a wrapper."""
    found = [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True), shutil.which(name)]
    if found[0] is None:
        raise ServerMissingError(f"postgresql: the program {name} is not installed")
    return found[0]


def _run(command: Sequence[str], user: pwd.struct_passwd | None, folder: Path) -> None:
    more = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with (folder / "output").open("ab") as output:
        done = subprocess.run(command, stdout=output, stderr=output, cwd=folder, timeout=120, check=False, **more)  # type: ignore[call-overload]  # by keyword
    if done.returncode != 0:
        raise ServerMissingError(f"postgresql: {Path(command[0]).name} failed: {(folder / 'output').read_text(errors='replace')[-500:]}")

"""Real search servers for tests, without Docker: fetched from Maven, unpacked once, run as a plain user, stopped by process id.

    python tests/nodes/nodes.py fetch [NAME…]     download and unpack only
    python tests/nodes/nodes.py up [NAME…]        start and leave running; one line of JSON per node
    python tests/nodes/nodes.py down [NAME…]      stop what `up` started

Downloads and unpacked servers live under $DETECTOR_NODES_CACHE (default: /var/tmp/detector-nodes). Tests take nodes through `running()`: the first
process that needs a node starts it, the last one that used it stops it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # this file is also run as a script

from tests.nodes.plugin import install

CACHE = Path(os.environ.get("DETECTOR_NODES_CACHE", "/var/tmp/detector-nodes"))
HERE = Path(__file__).resolve().parent
PLAIN_USER = "nobody"  # neither server starts as root; tests that run as root start them as this user
START_SECONDS = 300
STOP_SECONDS = 20


class NodeMissingError(Exception):
    """A node can't be had on this machine; the text says which and why."""


@dataclass(frozen=True)
class Server:
    """What to fetch and how to run it; `java` is the oldest major version of Java that the server accepts."""

    name: str
    group: str
    artifact: str
    version: str
    java: int
    secured: bool = False

    @property
    def flavour(self) -> str:
        return self.artifact

    @property
    def folder(self) -> Path:
        return CACHE / f"{self.artifact}-{self.version}"


_ES = "org.elasticsearch.distribution.integ-test-zip"
_OS = "org.opensearch.distribution.integ-test-zip"
SERVERS = {
    server.name: server
    for server in (
        Server("elasticsearch8", _ES, "elasticsearch", "8.19.8", java=17),
        Server("elasticsearch9", _ES, "elasticsearch", "9.4.3", java=21),
        Server("opensearch", _OS, "opensearch", "3.8.0", java=21),
        Server("secured", _ES, "elasticsearch", "9.4.3", java=21, secured=True),
    )
}

# The users of the secured node. Passwords of a throw-away server on loopback.
ADMIN = ("admin", "admin-pass-word")
READER = ("reader", "reader-pass-word")  # the least-privilege role of deploy/elasticsearch/role.json
BLIND = ("blind", "blind-pass-word")  # a user without any role on the log


@dataclass(frozen=True)
class Node:
    """A running node. `ca` is the file of its own certificate authority, where it speaks TLS. `lacks`: why it has no API keys and no failure stores."""

    name: str
    flavour: str
    version: str
    url: str
    pid: int
    ca: str | None = None
    seconds: float = 0.0
    lacks: str = ""

    def ask(self, method: str, path: str, body: Any = None, *, auth: tuple[str, str] | None = None) -> Any:
        """One request with the standard library, as the administrator of a secured node; for tests' own set-up."""
        auth = auth or (ADMIN if self.ca else None)
        return _ask(self.url, method, path, body, auth, self.ca)


# -- fetch ---------------------------------------------------------------------------------------------------------------------------------------
def fetch(server: Server) -> Path:
    """The unpacked server's folder; downloads it when it is not there yet. Raises NodeMissingError."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with _locked(CACHE / f"{server.artifact}-{server.version}.lock"):
        if (server.folder / ".complete").exists():
            return server.folder
        archive = CACHE / "zips" / f"{server.artifact}-{server.version}.zip"
        if not archive.exists():
            _download(server, archive.parent)
        shutil.rmtree(server.folder, ignore_errors=True)
        try:
            with zipfile.ZipFile(archive) as bundle:
                top = bundle.namelist()[0].split("/")[0]
                bundle.extractall(CACHE)  # an archive of the vendor's release
                for entry in bundle.infolist():  # zipfile drops the executable bit
                    mode = entry.external_attr >> 16
                    if mode:
                        (CACHE / entry.filename).chmod(mode | 0o444 | (0o111 if entry.is_dir() else 0))
        except (zipfile.BadZipFile, OSError) as error:
            archive.unlink(missing_ok=True)
            raise NodeMissingError(f"{server.name}: {archive} can't be unpacked: {error}") from error
        if CACHE / top != server.folder:
            (CACHE / top).rename(server.folder)
        (server.folder / ".complete").touch()
        return server.folder


def _download(server: Server, folder: Path) -> None:
    coordinates = f"{server.group}:{server.artifact}:{server.version}:zip"
    maven = shutil.which("mvn")
    if maven is None:
        raise NodeMissingError(f"{server.name}: Maven (mvn) is not installed, so {coordinates} can't be fetched; install the package 'maven'")
    command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, cwd=CACHE)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        raise NodeMissingError(f"{server.name}: {coordinates} can't be fetched with Maven: {(lines or ['no message'])[0][:300]}")


def java_home(oldest: int, name: str) -> Path:
    """The home of the oldest installed Java that is new enough. Raises NodeMissingError that lists what was found."""
    found: dict[Path, int] = {}
    places = [Path(os.environ[key]) for key in ("DETECTOR_JAVA_HOME", "JAVA_HOME") if os.environ.get(key)]
    places += sorted(Path("/usr/lib/jvm").glob("*")) + sorted(Path("/opt").glob("*j[dr]k*"))
    if on_path := shutil.which("java"):
        places.append(Path(on_path).resolve().parent.parent)
    for place in places:
        if (place / "bin" / "java").exists():
            found[place.resolve()] = _java_version(place)
    good = sorted((version, home) for home, version in found.items() if version >= oldest)
    if not good:
        have = ", ".join(f"{version} in {home}" for home, version in found.items()) or "none"
        raise NodeMissingError(f"{name}: needs Java {oldest} or newer; found: {have}. Install one, or set DETECTOR_JAVA_HOME")
    return good[0][1]


def _java_version(home: Path) -> int:
    release = home / "release"
    text = release.read_text() if release.exists() else ""
    if "JAVA_VERSION=" not in text:
        text = "JAVA_VERSION=" + subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False).stderr.split('"')[1]
    version = text.split("JAVA_VERSION=")[1].splitlines()[0].strip('"')
    return int(version.split(".")[1] if version.startswith("1.") else version.split(".")[0])


# -- run -----------------------------------------------------------------------------------------------------------------------------------------
def start(server: Server, keep: bool = False) -> Node:
    """Start a fresh node (empty data) and wait until it answers. Raises NodeMissingError with the last lines of its log."""
    home = fetch(server)
    java = java_home(server.java, server.name)
    lacks = "OpenSearch has neither"
    if server.flavour == "elasticsearch":
        with _locked(CACHE / f"{server.artifact}-{server.version}.lock"):
            lacks = install(home, server.version, server.java, java)
    run = CACHE / "run" / server.name
    shutil.rmtree(run, ignore_errors=True)
    for folder in ("data", "logs", "tmp"):
        (run / folder).mkdir(parents=True)
    shutil.copytree(home / "config", run / "config")
    options = run / "config" / "jvm.options"
    options.write_text(
        "\n".join(line for line in options.read_text().splitlines() if "Xlog" not in line and "HeapDump" not in line and "ErrorFile" not in line)
    )
    prefix = "ES" if server.flavour == "elasticsearch" else "OPENSEARCH"
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(run),
        "LANG": "C.UTF-8",
        f"{prefix}_JAVA_HOME": str(java),
        f"{prefix}_JAVA_OPTS": "-Xms512m -Xmx512m",
        f"{prefix}_PATH_CONF": str(run / "config"),
        f"{prefix}_TMPDIR": str(run / "tmp"),
    }
    port, transport = _free_port(), _free_port()
    settings = {
        "discovery.type": "single-node",
        "network.host": "127.0.0.1",
        "http.port": str(port),
        "transport.port": str(transport),
        "path.data": str(run / "data"),
        "path.logs": str(run / "logs"),
        "node.name": server.name,
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    if server.flavour == "elasticsearch":
        settings["xpack.security.enabled"] = str(server.secured).lower()
    scheme, ca = "http", None
    if server.secured:
        settings |= {
            "xpack.security.transport.ssl.enabled": "false",
            "xpack.security.http.ssl.enabled": "true",
            "xpack.security.http.ssl.key": "tls/node.key",
            "xpack.security.http.ssl.certificate": "tls/node.crt",
        }
        scheme, ca = "https", _secure(home, run, environment)
    command = [str(home / "bin" / server.artifact)]
    for key, value in settings.items():
        command += ["-E", f"{key}={value}"]
    begun = time.monotonic()
    with (run / "stdout.log").open("wb") as output:
        process = _spawn(command, environment, run, output)
    url = f"{scheme}://127.0.0.1:{port}"
    try:
        version = _wait(process, url, server, ca)
    except BaseException:
        _stop_pid(process.pid)
        process.wait()
        raise
    node = Node(server.name, server.flavour, version, url, process.pid, ca, round(time.monotonic() - begun, 1), lacks)
    _state(server).write_text(json.dumps(asdict(node) | {"keep": keep}))
    return node


def _secure(home: Path, run: Path, environment: dict[str, str]) -> str:
    """Roles, users and a certificate authority of the secured node's own; gives the CA file."""
    config, tls = run / "config", run / "config" / "tls"
    tls.mkdir()
    shutil.copy(HERE / "roles.yml", config / "roles.yml")
    certutil = str(home / "bin" / "elasticsearch-certutil")
    _tool([certutil, "ca", "--pem", "--silent", "--out", str(tls / "ca.zip")], environment, run)
    _unzip(tls / "ca.zip", tls)
    authority = ["--ca-cert", str(tls / "ca" / "ca.crt"), "--ca-key", str(tls / "ca" / "ca.key")]
    names = ["--ip", "127.0.0.1", "--dns", "localhost", "--name", "node"]
    _tool([certutil, "cert", "--pem", "--silent", *authority, *names, "--out", str(tls / "node.zip")], environment, run)
    _unzip(tls / "node.zip", tls)
    for file in ("node.crt", "node.key"):
        shutil.copy(tls / "node" / file, tls / file)
    users = str(home / "bin" / "elasticsearch-users")
    for (name, password), role in ((ADMIN, "superuser"), (READER, "llm_detector"), (BLIND, "elsewhere")):
        _tool([users, "useradd", name, "-p", password, "-r", role], environment, run)
    return str(tls / "ca" / "ca.crt")


def _tool(command: list[str], environment: dict[str, str], run: Path) -> None:
    """Run one of the server's own tools to its end, as the same plain user as the server."""
    log = run / "tools.log"
    with log.open("ab") as output:
        code = _spawn(command, environment, run, output).wait(timeout=START_SECONDS)
    if code:
        raise NodeMissingError(f"{Path(command[0]).name} failed ({code}): {log.read_text(errors='replace')[-300:]}")


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as bundle:
        bundle.extractall(folder)  # made by the server's own tool a moment ago


_started: list[subprocess.Popen[bytes]] = []  # kept: a Popen that is let go while its process runs warns, and tests take warnings for errors


def _spawn(command: list[str], environment: dict[str, str], run: Path, output: IO[bytes]) -> subprocess.Popen[bytes]:
    plain: dict[str, Any] = {}
    if os.getuid() == 0:
        for path in (run, *run.rglob("*")):
            shutil.chown(path, PLAIN_USER)
        plain = {"user": PLAIN_USER, "group": "nogroup" if _group_exists("nogroup") else "nobody", "extra_groups": []}
    # a process group of its own: the start script and the Java process behind it are stopped together
    process = subprocess.Popen(command, env=environment, cwd=run, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True, **plain)
    _started.append(process)
    return process


def _group_exists(name: str) -> bool:
    import grp

    return any(group.gr_name == name for group in grp.getgrall())


def _wait(process: subprocess.Popen[bytes], url: str, server: Server, ca: str | None) -> str:
    """The server's version as it says itself, once its health is yellow or green."""
    auth = ADMIN if server.secured else None
    until = time.monotonic() + START_SECONDS
    log = CACHE / "run" / server.name / "stdout.log"
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            if _ask(url, "GET", "/_cluster/health", None, auth, ca)["status"] in ("green", "yellow"):
                nodes = _ask(url, "GET", "/_nodes/_local", None, auth, ca)["nodes"]
                return str(next(iter(nodes.values()))["version"])
        time.sleep(0.3)
    why = f"ended with {process.returncode}" if process.poll() is not None else f"not ready in {START_SECONDS} s"
    raise NodeMissingError(f"{server.name}: {why}: {log.read_text(errors='replace')[-600:]}")


def _ask(url: str, method: str, path: str, body: Any, auth: tuple[str, str] | None, ca: str | None) -> Any:
    if isinstance(body, (bytes, str)):
        data: bytes | None = body.encode() if isinstance(body, str) else body
        kind = "application/x-ndjson"
    else:
        data, kind = (None if body is None else json.dumps(body).encode()), "application/json"
    request = urllib.request.Request(url + path, data=data, method=method, headers={"Content-Type": kind})
    if auth:
        request.add_header("Authorization", "Basic " + b64encode(":".join(auth).encode()).decode())
    context = ssl.create_default_context(cafile=ca) if ca else None
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            raise OSError(f"{method} {path}: {error.code} {error.read()[:500].decode(errors='replace')}") from None


# -- share and stop ------------------------------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def running(name: str) -> Iterator[Node]:
    """A running node that several test processes may share; the last user stops it, unless `up` started it to stay."""
    server = SERVERS[name]
    (CACHE / "run").mkdir(parents=True, exist_ok=True)
    with (CACHE / "run" / f"{name}.users").open("w") as users:
        with _locked(CACHE / "run" / f"{name}.lock"):
            node = current(server) or start(server)
            fcntl.flock(users, fcntl.LOCK_SH)
        try:
            yield node
        finally:
            fcntl.flock(users, fcntl.LOCK_UN)
            with _locked(CACHE / "run" / f"{name}.lock"), contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody else uses it
                stop(server, only_ours=True)


def current(server: Server) -> Node | None:
    """The node of this name if it runs and answers."""
    try:
        state = json.loads(_state(server).read_text())
        state.pop("keep")
        node = Node(**{"lacks": "it was started by an older version of this script: end it with `down`", **state})
        node.ask("GET", "/_cluster/health")
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return node


def stop(server: Server, only_ours: bool = False) -> bool:
    """Stop the node by its process id; `only_ours`: leave one that `up` started."""
    try:
        state = json.loads(_state(server).read_text())
    except (OSError, ValueError):
        return False
    if only_ours and state.get("keep"):
        return False
    _state(server).unlink()
    _stop_pid(int(state["pid"]))
    shutil.rmtree(CACHE / "run" / server.name / "data", ignore_errors=True)
    return True


def _stop_pid(pid: int) -> None:
    """End the process group of a server that this script started."""
    for kind, patience in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, kind)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            try:
                os.killpg(pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _state(server: Server) -> Path:
    return CACHE / "run" / f"{server.name}.json"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(arguments: list[str]) -> int:
    """Command line: fetch, up, down."""
    if not arguments or arguments[0] not in ("fetch", "up", "down"):
        print(__doc__)
        return 2
    failed = 0
    for name in arguments[1:] or list(SERVERS):
        server = SERVERS[name]
        try:
            if arguments[0] == "fetch":
                java_home(server.java, name)
                print(json.dumps({"name": name, "version": server.version, "folder": str(fetch(server))}))
            elif arguments[0] == "up":
                with _locked(CACHE / "run" / f"{name}.lock"):
                    print(json.dumps(asdict(current(server) or start(server, keep=True))), flush=True)
            else:
                print(json.dumps({"name": name, "stopped": stop(server)}))
        except NodeMissingError as error:
            failed = 1
            print(f"can't be had: {error}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""A real Alertmanager, started from its Debian package's program with a configuration and ports of its own, and what its webhook receiver got."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from tests.servers.required import ServerMissingError, free_port, note_ran

CONFIG = """\
route: {receiver: us, group_by: [incident], group_wait: 100ms, group_interval: 300ms, repeat_interval: 1h}
receivers: [{name: us, webhook_configs: [{url: "http://127.0.0.1:PORT/", send_resolved: true}]}]
"""


@dataclass
class Alertmanager:
    """A running Alertmanager; `got` are the notifications that it sent."""

    url: str
    got: list[dict[str, Any]] = field(default_factory=list)

    def alerts(self) -> list[dict[str, Any]]:
        """Alerts that it holds as active."""
        with urlopen(f"{self.url}/api/v2/alerts?active=true", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found

    def wait_for(self, status: str, deployment: str) -> list[dict[str, Any]]:
        """Alerts of this status and deployment that it notified of, each as it was told last, once there is one; waits a minute at most.

        Those of others may be sent again meanwhile.
        """
        end = time.monotonic() + 60
        while True:
            told = [alert for notification in list(self.got) for alert in notification["alerts"] if alert["status"] == status]
            found = {alert["fingerprint"]: alert for alert in told if alert["labels"]["deployment"] == deployment}
            if found:
                return list(found.values())
            assert time.monotonic() < end, f"no {status} alert after 60 s: {self.got}"
            time.sleep(0.05)


@contextmanager
def alertmanager(folder: Path) -> Iterator[Alertmanager]:
    """Started, and ended by its own process id. Raises ServerMissingError."""
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        raise ServerMissingError("alertmanager: the program prometheus-alertmanager is not installed")
    state = Alertmanager("")

    class Sink(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    sink = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, args=(0.05,), daemon=True).start()
    (folder / "alertmanager.yml").write_text(CONFIG.replace("PORT", str(sink.server_address[1])))
    port = free_port()
    state.url = f"http://127.0.0.1:{port}"
    arguments = [
        f"--config.file={folder}/alertmanager.yml",
        f"--storage.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, *arguments], stdout=log, stderr=log, cwd=folder)
    try:
        _until_ready(state.url, process, folder / "log")
        note_ran("alertmanager", program)
        yield state
    finally:
        process.terminate()
        process.wait(60)
        sink.shutdown()
        sink.server_close()


def _until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while True:
        try:
            with urlopen(f"{url}/-/ready", timeout=1):
                return
        except (URLError, OSError):
            if process.poll() is not None or time.monotonic() > end:
                raise ServerMissingError(f"alertmanager: it does not start: {log.read_text()[-500:]}") from None
            time.sleep(0.1)

"""The worker's pages: /metrics and /healthz."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from prometheus_client.exposition import CONTENT_TYPE_LATEST

from detector.errors import ConfigError
from detector.worker import Worker


def listen(worker: Worker, address: str) -> ThreadingHTTPServer:
    """Serve /metrics and /healthz; close it with `shutdown`. Raises ConfigError when the address can't be taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, worker.metrics.page(), CONTENT_TYPE_LATEST)
            elif self.path == "/healthz":
                well, why = worker.healthy()
                self._answer(200 if well else 503, f"{why}\n".encode(), "text/plain; charset=utf-8")
            else:
                self._answer(404, b"there is /metrics and /healthz\n", "text/plain; charset=utf-8")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Scrapes are not news."""

    host, _, port = address.rpartition(":")
    try:
        server = ThreadingHTTPServer((host.strip("[]"), int(port)), Handler)
    except OSError as error:
        raise ConfigError(f"schedule.listen: {address} can't be taken: {error.strerror}; each worker of a host needs its own ('' for none)") from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server

"""A proxy on loopback that stands in front of a real node and does, on request, what nodes and networks do on bad days.

`faults` are asked in order for every request; the first that answers decides. `seen` holds every request that passed.
"""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class Answer:
    """An answer on its way to the client; `cut`: send only so many bytes of the announced length, then close."""

    status: int
    headers: dict[str, str]
    body: bytes
    cut: int | None = None


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


Fault = Callable[[Asked, Callable[[], Answer]], Answer | None]


@dataclass
class FaultProxy:
    """The proxy's state; set `faults` while it runs."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    seen: list[Asked] = field(default_factory=list)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(65536):
            sink.sendall(block)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class NeverError(Exception):
    """A fault's way to say that there will be no answer."""


@contextmanager
def fault_proxy(target: str) -> Iterator[FaultProxy]:
    """A running proxy in front of `target`."""
    upstream = urlsplit(target)
    proxy = FaultProxy("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            headers = {name.lower(): value for name, value in self.headers.items()}
            if headers.pop("content-encoding", "") == "gzip":
                body = gzip.decompress(body)
                headers["content-length"] = str(len(body))
            path = self.path
            if path.startswith("http://"):  # asked as a forward proxy: the whole address stands in the request
                path = "/" + path.split("/", 3)[3]
                headers["x-was-absolute"] = "1"
            asked = Asked(self.command, path, headers, body)
            proxy.seen.append(asked)

            def forward() -> Answer:
                connection = http.client.HTTPConnection(upstream.hostname or "", upstream.port, timeout=60)
                passed = {name: value for name, value in asked.headers.items() if name not in ("host", "connection", "accept-encoding", "x-was-absolute")}
                connection.request(asked.method, asked.path, asked.body or None, passed)
                response = connection.getresponse()
                body = response.read()
                headers = {name.lower(): value for name, value in response.getheaders()}
                connection.close()
                return Answer(response.status, headers, body)

            try:
                answer = next((found for fault in list(proxy.faults) if (found := fault(asked, forward)) is not None), None) or forward()
            except NeverError:  # no clock of ours: however slow the machine is, it is the caller whose patience ends
                self.close_connection = True
                self.connection.settimeout(60)
                with suppress(OSError):
                    self.connection.recv(1)
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name not in ("content-length", "transfer-encoding", "connection", "content-encoding"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            if answer.cut is not None:
                self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(answer.body if answer.cut is None else answer.body[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True

        def do_CONNECT(self) -> None:
            """A tunnel: bytes go both ways, unseen."""
            proxy.seen.append(Asked(self.command, self.path, {}, b""))
            host, _, port = self.path.rpartition(":")
            with socket.create_connection((host, int(port))) as far:
                self.send_response(200)
                self.end_headers()
                back = threading.Thread(target=_copy, args=(far, self.connection), daemon=True)
                back.start()
                _copy(self.connection, far)
                back.join()
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815  # names that the standard library asks for

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# -- bad days ------------------------------------------------------------------------------------------------------------------------------------
def on(part: str, fault: Fault, *, times: int | None = None) -> Fault:
    """A fault only for requests whose path holds `part`, at most `times` times."""
    left = [times]

    def chosen(asked: Asked, forward: Callable[[], Answer]) -> Answer | None:
        if part not in asked.path or left[0] == 0:
            return None
        answer = fault(asked, forward)
        if answer is not None and left[0] is not None:
            left[0] -= 1
        return answer

    return chosen


def error(status: int, kind: str, **headers: str) -> Fault:
    """The error that a real server gives with this status."""
    body = {
        "error": {"root_cause": [{"type": kind, "reason": "secret text of a document"}], "type": kind, "reason": "secret text of a document"},
        "status": status,
    }
    sent = {"content-type": "application/json", "x-elastic-product": "Elasticsearch", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return lambda asked, forward: Answer(status, sent, json.dumps(body).encode())


def login_page(status: int = 200) -> Fault:
    """What a single-sign-on proxy answers."""
    return lambda asked, forward: Answer(status, {"content-type": "text/html"}, b"<html><title>Sign in</title><form>password</form></html>")


def changed(change: Callable[[dict[str, Any]], None]) -> Fault:
    """The real answer, changed."""

    def fault(asked: Asked, forward: Callable[[], Answer]) -> Answer | None:
        answer = forward()
        body = json.loads(answer.body)
        change(body)
        return Answer(answer.status, answer.headers, json.dumps(body).encode())

    return fault


def cut(announced: bool = True) -> Fault:
    """Half of the real answer; `announced`: with the whole length announced, else as if it were all."""

    def fault(asked: Asked, forward: Callable[[], Answer]) -> Answer | None:
        answer = forward()
        half = len(answer.body) // 2
        return Answer(answer.status, answer.headers, answer.body, cut=half) if announced else Answer(answer.status, answer.headers, answer.body[:half])

    return fault


def too_late(asked: Asked, forward: Callable[[], Answer]) -> Answer | None:
    """No answer for as long as the caller waits."""
    raise NeverError


def without_product(asked: Asked, forward: Callable[[], Answer]) -> Answer | None:
    """The real answer without the header that names the product."""
    answer = forward()
    return Answer(answer.status, {name: value for name, value in answer.headers.items() if name != "x-elastic-product"}, answer.body)

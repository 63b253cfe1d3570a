"""A TCP relay on loopback: what goes through it can be cut off as when a network or the far side goes down."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.nodes.nodes import Node


def transport(node: Node) -> str:
    """Where other clusters reach a node."""
    return str(next(iter(node.ask("GET", "/_nodes/_local/transport")["nodes"].values()))["transport_address"])


class Relay:
    """Forwards connections to `target` (host, port) until `stop`."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            try:
                far = socket.create_connection(self.target)
            except OSError:
                near.close()
                continue
            self.open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_copy, args=(source, sink), daemon=True).start()

    def stop(self) -> None:
        """Refuse new connections and break those that there are."""
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in self.open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while block := source.recv(65536):
            sink.sendall(block)
    for one in (source, sink):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(target: str) -> Iterator[Relay]:
    """A running relay to HOST:PORT."""
    host, _, port = target.rpartition(":")
    running = Relay((host, int(port)))
    try:
        yield running
    finally:
        running.stop()
        for one in running.open:
            one.close()

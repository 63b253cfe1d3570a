"""A file that grows by every message, or standard output: for a person's terminal, a report page, or a log shipper."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from detector.errors import NotifyError
from detector.incidents import Incident
from detector.notify.base import KINDS, Telling
from detector.notify.summary import as_data
from detector.render.inert import markdown, plain
from detector.render.numbers import clock, rate_line

_LOOK_BACK = 1 << 20  # bytes at the end of the file that are searched for a message of unknown outcome


@dataclass
class FileReceiver:
    """Appends to `path`, or prints where it is `-`. Each message ends with its key, so that a repeated one is not written twice."""

    path: str
    format: Literal["text", "markdown", "json"] = "text"
    name: str = "file"
    kinds: frozenset[str] = frozenset(KINDS) - {"still", "updated"}
    silent: frozenset[str] = frozenset()

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Write one message, as one write. Raises NotifyError."""
        text = self._text(telling, key)
        if self.path == "-":
            print(text, end="", flush=True, file=sys.stdout)
            return {"file": "-"}
        try:
            if not (tried_at is not None and self._holds(key)):
                descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o640)
                try:
                    os.write(descriptor, text.encode("utf-8", "backslashreplace"))
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        except OSError as error:
            raise NotifyError(f"file: {self.path} can't be written: {error.strerror or type(error).__name__}", retryable=True) from None
        return {"file": self.path}

    def _holds(self, key: str) -> bool:
        path = Path(self.path)
        if not path.exists():
            return False
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _LOOK_BACK))
            return key.encode() in stream.read()

    def _text(self, telling: Telling, key: str) -> str:
        if self.format == "json":
            return json.dumps(as_data(telling, key), sort_keys=True) + "\n"  # escaped: people read this file on terminals
        incidents = telling.storm or (telling.incident,)
        if self.format == "markdown":
            parts = [f"## {clock(telling.at)} UTC: {telling.kind}", *(_section(incident) for incident in incidents), f"<!-- {key} -->"]
            return "\n\n".join([*parts[:1], markdown(telling.reason, 400) + ".", *parts[1:]]) + "\n\n"
        lines = [f"{clock(telling.at)} UTC  {telling.kind:10}  {_line(incident)}" for incident in incidents]
        return "\n".join([*lines[:-1], f"{lines[-1]}  ({plain(telling.reason, 300)})  [{key}]"]) + "\n"


def _line(incident: Incident) -> str:
    finding = incident.findings[0]
    series = " / ".join(plain(value, 60) for value in finding.labels.values() if value and value.strip()) or f"requests without {' and '.join(finding.labels)}"
    return f"{incident.severity.upper()}  {incident.state}  {incident.id}  {incident.title}: {series}: {rate_line(finding)}"


def _section(incident: Incident) -> str:
    rows = [f"**{incident.severity.upper()}, {incident.state}: {markdown(incident.title)}** (`{incident.id}`)", ""]
    for finding in incident.findings[:6]:
        series = (
            " / ".join(markdown(value, 60) for value in finding.labels.values() if value and value.strip())
            or f"requests without {' and '.join(finding.labels)}"
        )
        rows.append(f"- {markdown(finding.title)}: {series}: {rate_line(finding)}")
    if len(incident.findings) > 6:
        rows.append(f"- … and {len(incident.findings) - 6} more")
    return "\n".join(rows)

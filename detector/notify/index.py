"""A findings index in Elasticsearch or OpenSearch: one document per change, so that history and dashboards live where the log lives.

The document's id is the decision's key: writing it again changes nothing. The credentials need `create_doc` and `index` on this one index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from detector.errors import NotifyError, SourceError
from detector.notify.base import KINDS, Telling
from detector.notify.summary import as_data
from detector.sources.es_cluster import Cluster, ClusterError

PASSING = frozenset({"rejected", "unavailable", "timeout", "connection", "not_json"})  # kinds of trouble that may be over at the next run


@dataclass
class IndexReceiver:
    """One index. `open_it` connects, at the first message."""

    open_it: Callable[[], Cluster]
    index: str
    name: str = "index"
    kinds: frozenset[str] = frozenset(KINDS) - {"still", "storm"}
    silent: frozenset[str] = frozenset()
    _cluster: Cluster | None = None

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Write the change's document. Raises NotifyError."""
        data = as_data(telling, key)
        body = {"@timestamp": data["at"], **data}
        try:
            if self._cluster is None:
                self._cluster = self.open_it()
            self._cluster.ask("PUT", f"/{quote(self.index, safe='')}/_doc/{quote(key, safe='')}", body)
        except ClusterError as error:
            raise NotifyError(f"index {self.index}: {error.why}", retryable=error.kind in PASSING) from None
        except SourceError as error:
            raise NotifyError(f"index {self.index}: {error}", retryable=True) from None
        return {"index": self.index}

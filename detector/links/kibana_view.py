"""The data view that links lead to: looked up once, when the first link is made. What can't be looked up costs the link, never the message."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from detector.config import Settings
from detector.errors import ConfigError, SourceError
from detector.links.kibana import DataView
from detector.links.kibana_lookup import find_data_view
from detector.sources.es_connection import authorization

ASK_AGAIN = 900.0  # seconds after which a Kibana that did not answer is asked again


@dataclass
class KnownView:
    """The data view of a configuration. `remarks`: why there is none, for stderr."""

    settings: Settings
    monotonic: Callable[[], float] = time.monotonic
    remarks: list[str] = field(default_factory=list)
    _found: DataView | None = None
    _asked_at: float | None = None

    def __call__(self) -> DataView | None:
        """The view; None where the configuration names no Kibana, or the view can't be found."""
        kibana = self.settings.kibana
        if kibana is None or self._found is not None:
            return self._found
        now = self.monotonic()
        if self._asked_at is None or now - self._asked_at >= ASK_AGAIN:
            self._asked_at = now
            identifier = self._identifier(kibana.data_view or self.settings.source.index)
            if identifier is not None:
                self._found = DataView(kibana.url, identifier, kibana.space, kibana.product)
        return self._found

    def _identifier(self, wanted: str | None) -> str | None:
        """The id of the view that is called so. An id that was configured is taken as it is where Kibana can't be asked."""
        kibana = self.settings.kibana
        assert kibana is not None  # noqa: S101  # asked before
        if wanted is None:
            self.remarks.append("messages bear no link to Kibana: the source is no index, so kibana.data_view must name the data view")
            return None
        try:
            return find_data_view(kibana.url, kibana.space, wanted, product=kibana.product, authorization=authorization(self.settings.secrets))
        except SourceError as error:
            if kibana.data_view is not None:
                return kibana.data_view
            self.remarks.append(f"messages bear no link to Kibana: {error}")
        except ConfigError as error:
            self.remarks.append(f"messages bear no link to Kibana: {error}")
        return None

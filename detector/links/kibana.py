"""Links to exactly the rows behind a finding, in Kibana's Discover or OpenSearch Dashboards: data view, absolute time, KQL by ids or by labels.

The state of both is written in rison inside the address's fragment. Everything is percent-encoded, `(`, `)` and `'` too, because chat clients cut an address
at them. Rows are named by ids or flags, never by content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote

from detector.errors import ConfigError

LONGEST = 2000  # characters; mail, chat and old proxies cut longer addresses
Product = Literal["kibana", "opensearch-dashboards"]
_PLAIN = re.compile(r"[A-Za-z_./~][A-Za-z0-9_./~-]*")  # strings that rison leaves without quotes (rison: id characters, not starting with a digit or -)
_KQL_WORDS = re.compile(r'(["\\])')


@dataclass(frozen=True)
class DataView:
    """Where rows are shown.

    Args:
        url: of Kibana or OpenSearch Dashboards, with its base path.
        data_view: id of a saved data view (index pattern); an unknown one silently shows another, so it should be looked up once.
        space: Kibana space.
        columns: fields shown beside the time.
        time_field: sorted by.
    """

    url: str
    data_view: str
    space: str = "default"
    product: Product = "kibana"
    columns: tuple[str, ...] = ()
    time_field: str = "@timestamp"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"https?://[^\s?#]+", self.url):
            raise ConfigError("kibana.url: must look like https://kibana.example:5601")
        if not self.data_view:
            raise ConfigError("kibana.data_view: the id of the data view is missing")


def rison(value: Any) -> str:
    """A JSON value in rison. Raises ConfigError for a value that it can't write."""
    if value is None:
        return "!n"
    if isinstance(value, bool):
        return "!t" if value else "!f"
    if isinstance(value, (int, float)):
        return repr(value).replace("+", "")
    if isinstance(value, str):
        if _PLAIN.fullmatch(value):
            return value
        return "'" + value.replace("!", "!!").replace("'", "!'") + "'"
    if isinstance(value, Mapping):
        return "(" + ",".join(f"{rison(str(key))}:{rison(value[key])}" for key in value) + ")"
    if isinstance(value, Sequence):
        return "!(" + ",".join(rison(entry) for entry in value) + ")"
    raise ConfigError(f"a {type(value).__name__} can't stand in a Kibana link")


def kql_value(value: str | int | bool) -> str:
    """A literal of KQL: quoted, with quote and backslash escaped; no operator or wildcard in it has a meaning."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    cleaned = "".join(character if character.isprintable() else " " for character in value)
    return '"' + _KQL_WORDS.sub(r"\\\1", cleaned) + '"'


def kql_field(name: str) -> str:
    """A field's name in KQL."""
    return re.sub(r'([\\():<>"*{} ])', r"\\\1", name)


def conditions(labels: Mapping[str, str | int | bool | None]) -> str:
    """KQL of field = value, all of them; None: the field is missing."""
    parts = [f"not {kql_field(name)} : *" if value is None else f"{kql_field(name)} : {kql_value(value)}" for name, value in labels.items()]
    return " and ".join(parts)


def one_of(field: str | None, values: Sequence[str]) -> str:
    """KQL of a field that has one of some values; None: any field has one."""
    listed = f"({' or '.join(kql_value(value) for value in values)})"
    return (f"{kql_field(field)} : {listed}" if field else listed) if values else ""


def rows(
    view: DataView,
    start: float,
    end: float,
    labels: Mapping[str, str | int | bool | None],
    id_field: str | None = None,
    ids: Sequence[str] = (),
    anywhere: Sequence[str] = (),
) -> str:
    """The address of the rows of some labels in `[start, end)` (seconds since 1970 UTC), narrowed to `ids` where they are given.

    `labels` are named by their fields. Values of which it is not known in which field they stand are looked for in all of them: those of `anywhere`, and the
    ids without `id_field`. A wrong name would show no row at all.

    As many ids as fit into `LONGEST` characters are named; when not even one fits, labels and time remain.

    Raises:
        ConfigError: the address is too long even so.
    """

    def build(named: int) -> str:
        query = " and ".join(part for part in (conditions(labels), *map(kql_value, anywhere), one_of(id_field, ids[:named])) if part)
        return discover(view, start, end, query)

    return _longest_that_fits(build, len(ids))


def discover(view: DataView, start: float, end: float, query: str) -> str:
    """The address of Discover with a KQL query. `end` is exclusive: the last millisecond before it is the last that is shown."""
    time = {"from": _moment(start), "to": _moment(end - 0.001)}
    shown = list(view.columns)
    asked = {"language": "kuery", "query": query}
    base = view.url.rstrip("/")
    overall = {"filters": [], "refreshInterval": {"pause": True, "value": 0}, "time": time}
    if view.product == "opensearch-dashboards":
        state = {
            "discover": {"columns": shown, "isDirty": False, "sort": [[view.time_field, "desc"]]},
            "metadata": {"indexPattern": view.data_view, "view": "discover"},
        }
        parts = {"_g": overall, "_a": state, "_q": {"filters": [], "query": asked}}
        return f"{base}/app/data-explorer/discover#?{_fragment(parts)}"
    space = "" if view.space in ("", "default") else f"/s/{quote(view.space, safe='')}"
    # `index` is read by 7.x and 8.x; newer versions move it to `dataSource` themselves (kibana#181963)
    state = {"columns": shown, "filters": [], "index": view.data_view, "interval": "auto", "query": asked, "sort": [[view.time_field, "desc"]]}
    return f"{base}{space}/app/discover#/?{_fragment({'_g': overall, '_a': state})}"


def one_document(view: DataView, index: str, doc_id: str) -> str:
    """The address of a single document."""
    base = view.url.rstrip("/")
    space = "" if view.space in ("", "default") or view.product != "kibana" else f"/s/{quote(view.space, safe='')}"
    return f"{base}{space}/app/discover#/doc/{_encoded(view.data_view)}/{_encoded(index)}?id={_encoded(doc_id)}"


def choose_data_view(listed: Sequence[Mapping[str, Any]], wanted: str) -> str:
    """The id of the data view whose id, title or name is `wanted`, from the answer of `GET /api/data_views`.

    Raises:
        ConfigError: there is none, or several have that name.
    """
    for key in ("id", "title", "name"):
        found = [str(one["id"]) for one in listed if one.get(key) == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigError(f"kibana.data_view: {len(found)} data views have the {key} {wanted}; give the id of one")
    known = ", ".join(sorted(str(one.get("title") or one.get("name")) for one in listed)[:10])
    raise ConfigError(f"kibana.data_view: there is no data view {wanted}; there are: {known or 'none'}")


def _longest_that_fits(build: Callable[[int], str], count: int) -> str:
    low, high = 0, count
    while low < high:  # the most ids that fit
        middle = (low + high + 1) // 2
        if len(build(middle)) <= LONGEST:
            low = middle
        else:
            high = middle - 1
    address = build(low)
    if len(address) > LONGEST:
        raise ConfigError(f"the link to Kibana would have {len(address):,} characters; shorten kibana.url or the data view's columns")
    return address


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fragment(parts: Mapping[str, Any]) -> str:
    return "&".join(f"{name}={_encoded(rison(value))}" for name, value in parts.items())


def _encoded(text: str) -> str:
    return quote(text, safe="-_.~:,@", errors="replace")

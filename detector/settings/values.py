"""Kinds of values that several sections take: web addresses, paths, one-or-many."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator


def _web_address(text: str) -> str:
    """An http(s) address without user info; its text is never repeated in a complaint, since it may hold a password."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError("is no web address: write https://HOST[:PORT]") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("is no web address: write https://HOST[:PORT]")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must hold no user or password: secrets come from the environment or from files (DETECTOR_…, DETECTOR_…_FILE)")
    return text


def listed(value: Any) -> Any:
    """One value where a list of values is taken."""
    return [value] if isinstance(value, str) else value


def _time_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"'{value}' is no time zone: write an IANA name such as UTC or Asia/Seoul") from None
    return value


TimeZone = Annotated[str, AfterValidator(_time_zone)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Texts = Annotated[tuple[str, ...], BeforeValidator(listed)]
WebAddresses = Annotated[tuple[WebAddress, ...], BeforeValidator(listed)]

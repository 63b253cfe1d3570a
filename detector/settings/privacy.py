"""`privacy:` what of an answer's text may leave this machine."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import field_validator

from detector.strict_model import Strict


class PrivacySettings(Strict):
    """Text in messages."""

    content: Literal["off", "masked"] = "off"
    """off: no text of any answer; masked: a short excerpt with names, numbers and addresses masked."""

    @field_validator("content", mode="before")
    @classmethod
    def _false_is_off(cls, value: Any) -> Any:
        return "off" if value is False else value

"""`signals:` what a site may set about its answers."""

from __future__ import annotations

from pydantic import Field

from detector.settings.values import Texts
from detector.signals.base import SignalOptions
from detector.strict_model import Strict


class SignalSettings(Strict):
    """Site knowledge that the signals need."""

    think_markers: Texts = ()
    """Further strings that end thinking (vLLM's reasoning_end_str, home-made tags)."""
    special_tokens: Texts = ()
    """Further template tokens that no user should read."""
    small_cap_tokens: int = Field(16, ge=0, strict=True)
    """A requested cap up to this many tokens is taken as meant (classifier, probe, title)."""

    def options(self) -> SignalOptions:
        """As the signals take it."""
        return SignalOptions(self.think_markers, self.special_tokens, self.small_cap_tokens)

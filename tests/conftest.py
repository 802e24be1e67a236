"""Profiles of Hypothesis: the default one finds what is broken now, `--hypothesis-profile=deep` searches for long."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("deep", deadline=None, max_examples=5000)
settings.load_profile("default")

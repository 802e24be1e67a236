"""Profiles of Hypothesis: `ci`, the default, is the same in every run; `deep` searches anew and for long.

pytest --hypothesis-profile=deep tests/banks/test_rule.py
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("deep", deadline=None, max_examples=5000)
settings.load_profile("ci")

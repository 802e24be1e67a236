"""Which banksim this is."""

from __future__ import annotations

VERSION = "0.2.0"
"""The newest heading of CHANGELOG.md. Packages are built with it, and every report names it."""

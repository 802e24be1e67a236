"""Which banksim this is."""

VERSION = "0.2.0"
"""The newest heading of CHANGELOG.md. Packages are built with it, and every report names it."""

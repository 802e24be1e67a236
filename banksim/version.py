"""The version of banksim, and how it is told."""

from __future__ import annotations


def version() -> str:
    """The installed version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("banksim")
    except PackageNotFoundError:
        return "(not installed: running from a checkout)"

"""The date that reports bear."""

import os
from datetime import UTC, datetime


def date() -> datetime:
    """Now, or the date that reproducible builds are given."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)

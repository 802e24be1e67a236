"""Fixtures that many files of tests make alike, and the types of pytest's own."""

from pathlib import Path
from typing import Any

import pytest

from helpers.places import written_to

Patch = pytest.MonkeyPatch
Said = pytest.CaptureFixture[str]


def source_file(name: str, text: str) -> Any:
    """A fixture for a file of this name and text."""

    @pytest.fixture(scope="module")
    def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return written_to(tmp_path_factory.mktemp("sources") / name, text)

    return path

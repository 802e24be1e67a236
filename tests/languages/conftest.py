"""Tests of real languages: their compilers are hundreds of megabytes, and are not part of the extra `test`.

pip install -e '.[languages,test]' && pytest tests/languages
"""

from __future__ import annotations

from pathlib import Path

import pytest

from banksim.runs.languages import language


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Triton compiles is kept for one session of tests alone."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))


@pytest.fixture
def here() -> Path:
    return Path(__file__).parent


assert language.LANGUAGES

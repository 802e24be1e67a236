"""Tests of real languages: their compilers are hundreds of megabytes, and are not part of the extra `test`.

pip install -e '.[languages,test]' && pytest tests/languages

A file whose language is not installed counts as skipped, and says what is missing.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDS = {
    "test_cutile": ("cuda.tile",), "test_gluon": ("triton",), "test_tensor_layouts": ("tensor_layouts",),
    "test_tilelang": ("tilelang", "torch"), "test_triton": ("triton",), "test_triton_programs": ("triton", "torch"),
    "test_warp": ("warp",), "test_warp_programs": ("warp",),
    "test_alike": ("cuda.tile", "tilelang", "torch", "triton", "warp"),
}  # fmt: skip
"""File → modules that its language is made of."""


def is_there(name: str) -> bool:
    """Whether a module can be imported, whose packages may be missing too."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


class WithoutLanguage(pytest.Module):
    """A file of tests whose language is not installed."""

    def collect(self) -> Iterator[pytest.Item]:
        lacking = ", ".join(name for name in NEEDS[self.path.stem] if not is_there(name))
        reason = f"without {lacking}: pip install -e '.[languages,test]' && pytest tests/languages"
        pytest.skip(reason, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if all(map(is_there, NEEDS.get(module_path.stem, ()))):
        return None
    made: pytest.Module = WithoutLanguage.from_parent(parent, path=module_path)
    return made


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Triton compiles is kept for one session of tests alone."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "triton"))


@pytest.fixture
def here() -> Path:
    return Path(__file__).parent

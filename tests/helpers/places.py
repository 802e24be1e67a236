"""Where the files are that tests read; no test looks for them by its own place."""

from functools import cache
from pathlib import Path

import banksim

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
"""The checkout."""
PACKAGES = Path(banksim.__file__).parents[1]
"""The folder that banksim is imported from, here or where it is installed: for PYTHONPATH of other processes."""
EXAMPLES = ROOT / "examples"
PROGRAMS = TESTS / "programs"
GOLDENS = TESTS / "goldens"
DATA = TESTS / "data"
H200 = DATA / "hardware"
KERNELS = DATA / "kernels"
TRITON = DATA / "triton"
SARIF_SCHEMA = DATA / "sarif-2.1.0.json"


def written_to(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


loaded = cache(banksim.load)

"""The types of pytest's fixtures that many tests have."""

import pytest

Patch = pytest.MonkeyPatch
Said = pytest.CaptureFixture[str]

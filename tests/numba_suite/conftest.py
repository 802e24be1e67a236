"""Lets numba-cuda's own tests run here: what their repository's configuration adds, and which cannot pass."""

from pathlib import Path

import pytest

PACKAGE = "numba.cuda.tests."
LIST = Path(__file__).with_name("cannot_pass.txt")


def reasons() -> dict[str, str]:
    """`module::Class::test`, or the beginning of such names: why it cannot pass."""
    found, reason = {}, ""
    for line in LIST.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            found[line] = reason
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = reasons()
    for item in items:
        module = getattr(getattr(item, "module", None), "__name__", "")
        if module.startswith(PACKAGE):
            name = "::".join([module.removeprefix(PACKAGE), *item.nodeid.split("::")[1:]])
            reason = next((why for start, why in known.items() if name == start or name.startswith(f"{start}::")), None)
            if reason and reason.startswith("not run: "):
                item.add_marker(pytest.mark.skip(reason=reason))
            elif reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=False))


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """What numba.cuda.testing.CUDATestCase asks for."""
    request.cls._dump_failed_filechecks = False

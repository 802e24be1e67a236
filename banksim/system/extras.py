"""What banksim's extras bring along: the message where it is missing, with a command that installs it; versions."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from banksim.errors import InputError

HERE = Path(__file__).resolve().parents[2]
"""The checkout, or the folder of installed packages, that this banksim is run from."""


def missing(what: str, extra: str) -> InputError:
    """The error for a package of an extra that is missing; `what` says what needs it."""
    return InputError(f"{what}: {command(extra)}")


def command(extra: str) -> str:
    """The command that installs what an extra brings along, with banksim from where this one came from."""
    came = origin()
    url = came.get("url", "")
    if (HERE / "pyproject.toml").is_file():
        option = ["-e"] if came.get("dir_info", {}).get("editable") else []
        words = [*option, f"{HERE}[{extra}]"]
    elif "vcs_info" in came:
        words = [f"banksim[{extra}] @ {came['vcs_info']['vcs']}+{url}@{came['vcs_info']['commit_id']}"]
    elif url.startswith("file:"):
        from urllib.request import url2pathname

        path = url2pathname(url.removeprefix("file://"))
        words = [f"{path}[{extra}]"] if Path(path).exists() else [*packages(extra)]
    else:
        words = [f"banksim[{extra}]{f' @ {url}' if url else ''}"]
    return shlex.join(["pip", "install", *words])


def origin() -> dict[str, Any]:
    """What pip wrote down of a banksim that is not from an index (PEP 610), else nothing."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("banksim").read_text("direct_url.json")
        said = json.loads(text or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def packages(extra: str) -> Iterator[str]:
    """The packages of an extra of the installed banksim, without banksim itself."""
    from importlib.metadata import distribution

    for line in distribution("banksim").requires or ():
        wanted, _, condition = line.partition(";")
        if re.search(rf"extra == ['\"]{extra}['\"]", condition):
            inner = re.match(r"banksim\[([\w-]+)\]", wanted)
            yield from packages(inner[1]) if inner else [wanted.strip()]


def installed(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes some ten milliseconds

    try:
        return version(package)
    except PackageNotFoundError:
        return None

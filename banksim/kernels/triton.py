"""What Triton writes beside a compiled kernel: how every launch of it is made."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from banksim.errors import InputError, UnsupportedError
from banksim.kernels.kernel import Preset

HIDDEN = ("global_scratch_size", "profile_scratch_size")
"""Metadata of the pointers that Triton hands on behind the arguments, as far as its version knows of them: bytes for
each block (none: the pointer is null)."""


def preset(file: Path) -> Preset | None:
    """The launches of the kernel in a .cubin or .ptx of Triton's cache folder, from the .json of the same name.

    None where there is no such file, or another's. InputError where it is damaged, UnsupportedError for clusters of
    blocks and for tensor descriptors of a kind that is not known.
    """
    beside = file.with_suffix(".json")
    try:
        metadata = json.loads(beside.read_bytes()) if beside.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(metadata, dict) or not {"num_warps", "shared", "name"} <= metadata.keys():
        return None

    return preset_of(metadata, str(beside))


def preset_of(metadata: Mapping[str, Any], where: str) -> Preset:
    """The launches of a kernel with these metadata; errors name `where` they are."""

    def number(name: str, least: int, most: int) -> int:
        value: Any = metadata.get(name, least)
        if type(value) is not int or not least <= value <= most:
            raise InputError(f"{where}: {name} is {value!r}, not a whole number from {least} to {most}")
        return value

    if number("num_ctas", 1, 16) > 1:
        raise UnsupportedError(f"{where}: clusters of blocks (num_ctas {metadata['num_ctas']}) are not known")
    return Preset(
        block=(32 * number("num_warps", 1, 32), 1, 1),
        dynamic_shared=number("shared", 0, 1 << 20),
        scratch=tuple(number(name, 0, 1 << 40) for name in HIDDEN if name in metadata),
        tensors=tuple(tensor(one, where) for one in metadata.get("tensordesc_meta") or ()),
    )


def tensor(described: Any, where: str) -> tuple[tuple[int, ...], int]:
    """The box of a tensor descriptor, and the bytes of its swizzle."""
    try:
        box, swizzle = tuple(map(int, described["block_size"])), (0, 32, 64, 128)[described["swizzle"]]
        known = not described.get("fp4_padded")
    except (TypeError, KeyError, ValueError, IndexError, AttributeError):
        known = False
    if not known:
        raise UnsupportedError(f"{where}: tensor descriptors of this kind are not known: {described}")
    return box, swizzle

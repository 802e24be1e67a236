"""Linking at run time (cuLinkAddData, cuLinkComplete), with the answers that one H200 gave (driver 580.159.04)."""

from collections.abc import Iterator

from banksim.errors import CompileError, InputError
from banksim.kernels import fat_binary
from banksim.kernels.elf import Elf, is_cubin
from banksim.runs.programs import statuses
from banksim.runs.programs.modules import linked, parts_of

PTX, FAT_BINARY, NVVM = 1, 2, 5
"""Values of CUjitInputType in cuda.h."""
REFUSED = {0: (200, 209), PTX: (200, 200), FAT_BINARY: (200, 200), 3: (999, 200), 4: (999, 999), NVVM: (221, 221)}
"""The CUresult for an image that is none of its type, and for one that is ELF."""
INVALID_PTX = 218


class NotLinked(InputError):
    """`status`: the CUresult."""

    def __init__(self, told: object, status: int) -> None:
        super().__init__(str(told))
        self.status = status


def added(message: bytes, arch: str, file: str) -> bytes:
    """The relocatable cubins in an image, each behind its size. The message: a byte with its type, and the image."""
    kind, image = message[0], message[1:]
    other, elf = REFUSED.get(kind, REFUSED[0])
    status = elf if image[:4] == b"\x7fELF" else other
    text = kind in (PTX, FAT_BINARY)
    if kind == NVVM or not (text or is_cubin(image) or fat_binary.MAGIC in image):
        raise NotLinked(f"{file}: cuLinkAddData: nothing to link in an image of {len(image)} bytes", status)
    try:
        if is_cubin(image):
            Elf(image)
        return b"".join(len(part).to_bytes(8, "little") + part for part in parts_of(image, arch, file))
    except (InputError, CompileError) as error:
        raise NotLinked(error, INVALID_PTX if text and b".version" in image else status) from None


def completed(message: bytes, arch: str) -> bytes:
    """The cubin that is linked of what was added."""
    try:
        return linked([*parts(message)], arch)
    except (InputError, CompileError) as error:
        raise NotLinked(error, statuses.UNKNOWN) from None


def parts(message: bytes) -> Iterator[bytes]:
    while message:
        end = 8 + int.from_bytes(message[:8], "little")
        yield message[8:end]
        message = message[end:]

"""The names of GPUs, and the architecture of each.

Sources: NVIDIA's lists of GPUs by compute capability (developer.nvidia.com/cuda-gpus, and /cuda-legacy-gpus for those
before 7.5), appendix A of the CUDA C Programming Guide 4.2 for those before 3.0.
"""

import difflib
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

GPUS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        number: tuple(name.strip() for name in names.split(","))
        for number, names in {
            "121": "GB10, DGX Spark",
            "120": "RTX PRO 6000 Blackwell, RTX PRO 5000 Blackwell, RTX PRO 4500 Blackwell, RTX PRO 4000 Blackwell, "
            "RTX 5090, RTX 5080, RTX 5070 Ti, RTX 5070, RTX 5060 Ti, RTX 5060, RTX 5050",
            "110": "Jetson T5000, Jetson T4000, Jetson Thor",
            "103": "B300, GB300",
            "100": "B200, GB200",
            "90": "H100, H200, GH200",
            "89": "L4, L40, L40S, RTX 6000 Ada, RTX 5000 Ada, RTX 4500 Ada, RTX 4000 Ada, RTX 2000 Ada, RTX 4090, "
            "RTX 4080, RTX 4070 Ti, RTX 4070, RTX 4060 Ti, RTX 4060, RTX 4050",
            "87": "Jetson Orin, Jetson AGX Orin, Jetson Orin NX, Jetson Orin Nano",
            "86": "A40, A10, A16, A2, RTX A6000, RTX A5000, RTX A4000, RTX A3000, RTX A2000, RTX 3090 Ti, RTX 3090, "
            "RTX 3080 Ti, RTX 3080, RTX 3070 Ti, RTX 3070, RTX 3060 Ti, RTX 3060, RTX 3050 Ti, RTX 3050",
            "80": "A100, A30",
            "75": "T4, Quadro RTX 8000, Quadro RTX 6000, Quadro RTX 5000, Quadro RTX 4000, Quadro RTX 3000, Titan RTX, "
            "RTX 2080 Ti, RTX 2080, RTX 2070, RTX 2060, GTX 1660 Ti, GTX 1650 Ti, GTX 1650",
            "72": "Jetson AGX Xavier, Jetson Xavier NX",
            "70": "V100, Titan V, Quadro GV100",
            "62": "Jetson TX2",
            "61": "P40, P4, Quadro P6000, Quadro P5000, Quadro P4000, Quadro P2000, Titan Xp, GTX 1080 Ti, GTX 1080, "
            "GTX 1070 Ti, GTX 1070, GTX 1060, GTX 1050 Ti, GTX 1050",
            "60": "P100, Quadro GP100",
            "53": "Jetson Nano, Jetson TX1",
            "52": "M60, M40, M4, GTX 980 Ti, GTX 980, GTX 970, GTX 960, GTX 950",
            "50": "M10, GTX 750 Ti, GTX 750",
            "37": "K80",
            "35": "K40, K40c, K40m, K20, K20c, K20m, K20X, GTX Titan, GTX Titan Black, GTX 780 Ti, GTX 780",
            "32": "Jetson TK1",
            "30": "K10, GTX 770, GTX 760, GTX 690, GTX 680, GTX 670, GTX 660 Ti, GTX 660",
            "21": "GTX 560 Ti, GTX 550 Ti, GTX 460",
            "20": "C2050, C2070, C2075, M2050, M2070, M2090, GTX 590, GTX 580, GTX 570, GTX 480, GTX 470",
            "13": "C1060, S1070, GTX 295, GTX 285, GTX 280, GTX 275, GTX 260",
            "11": "8800 GT, 9800 GT, 9800 GTX",
            "10": "C870, 8800 GTX, 8800 Ultra",
        }.items()
    }
)
"""By the digits of sm_NN."""
SERIES = re.compile(r"^(?:(?:gtx|rtx)(?=\d)|jetson)")
BESIDE = re.compile(
    r"nvidia|geforce|tesla|gpu|sxm\d?|pcie?|nvl|hbm\d?e?|\d+gb|laptop|mobile|super|generation|"
    "server|workstation|max|q|edition"
)
"""What shops and nvidia-smi put around the name of a GPU (NVIDIA A100-SXM4-80GB); the architecture is the same."""


def gpus_of(capability: tuple[int, int]) -> tuple[str, ...]:
    """The GPUs of a compute capability."""
    return GPUS.get("{}{}".format(*capability), ())


def architecture_of(name: str) -> str | None:
    """sm_90 of `H100`, `h100`, `NVIDIA H100 80GB HBM3`; None for what is the name of no GPU in the table."""
    words = re.findall("[a-z0-9]+", name.lower())
    essential = [word for word in words if not BESIDE.fullmatch(word)]
    return by_name().get("".join(words)) or by_name().get("".join(essential))


def near_gpus(name: str) -> list[str]:
    """GPUs whose names are nearly this one."""
    known = {one.lower(): one for names in GPUS.values() for one in names}
    holding = [key for key in known if name.strip() and name.lower().strip() in key]
    return [known[near] for near in holding[:5] or difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.7)]


@cache
def by_name() -> Mapping[str, str]:
    """The architecture of every name, without blanks and capitals: as in the table, and without the name of its series
    where that leaves no doubt."""
    table: dict[str, str] = {}
    bare: dict[str, set[str]] = {}
    for number, names in GPUS.items():
        for name in names:
            short = "".join(name.lower().split())
            table[short] = f"sm_{number}"
            bare.setdefault(SERIES.sub("", short), set()).add(f"sm_{number}")
    return {name: next(iter(found)) for name, found in bare.items() if len(found) == 1} | table

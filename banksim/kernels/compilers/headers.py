"""Which wheel of PyPI has a header that a compiler did not find."""

import re
from collections.abc import Iterable
from pathlib import Path

MISSING = re.compile(r"""fatal error: (\S+?): No such file|cannot open source file "([^"]+)\"""")
"""The words with which the host's compiler and NVIDIA's compilers say that a header is missing."""
WHEELS = {
    r"curand\w*\.h": "nvidia-curand",
    r"cublas\w*\.h": "nvidia-cublas",
    r"cufft\w*\.h": "nvidia-cufft",
    r"cusparse\w*\.h": "nvidia-cusparse",
    r"cusolver\w*\.h": "nvidia-cusolver",
    r"npp\w*\.h": "nvidia-npp",
    r"nvjpeg\.h": "nvidia-nvjpeg",
    r"nvml\.h": "nvidia-nvml-dev",
    r"cupti\w*\.h": "nvidia-cuda-cupti",
    r"nvtx3/.*|nvToolsExt\w*\.h": "nvidia-nvtx",
    r"nvrtc\.h": "nvidia-cuda-nvrtc",
    r"cudnn\w*\.h": "nvidia-cudnn-cu13",
    r"nccl\w*\.h": "nvidia-nccl-cu13",
    r"nvshmem\w*\.h": "nvidia-nvshmem-cu13",
    r"(thrust|cub|cuda/std|nv)/.*": "nvidia-cuda-cccl",
    r"cutlass/.*|cute/.*": "nvidia-cutlass",
}
"""By the names of headers. The toolkit's wheels have them since CUDA 13 in one folder, where they are found."""
SAMPLES = re.compile(r"(helper|drvapi_error)_\w+\.h|exception\.h")
"""Of NVIDIA's CUDA samples, in their folder Common."""


def hint(message: str, folders: Iterable[Path] = ()) -> str:
    """What to install where a compiler says that a header is missing; empty where nobody knows. `folders`: those in
    which the compiler finds NVIDIA's."""
    match = MISSING.search(message)
    if match is None:
        return ""
    name = match[1] or match[2]
    wheel = next((wheel for pattern, wheel in WHEELS.items() if re.fullmatch(pattern, name)), None)
    library, inside, _ = name.partition("/")
    if wheel and inside and any((folder / part / library).is_dir() for folder in folders for part in ("", "cccl")):
        return f"{name} is not in the {library} that is installed: it is of another version"
    if wheel is not None:
        return f"{name} comes with the wheel {wheel}: pip install {wheel}"
    if SAMPLES.fullmatch(name):
        return f"{name} is part of NVIDIA's CUDA samples: name their folder Common as one with headers"
    return ""

"""What CUDA would return for an error, or for a function that is not provided."""

from banksim.errors import Fault

SUCCESS, NO_BINARY, NOT_FOUND, NOT_READY = 0, 209, 500, 600
ILLEGAL_ADDRESS, TIMEOUT, ASSERT, ILLEGAL_INSTRUCTION = 700, 702, 710, 715
MISALIGNED, INVALID_ADDRESS_SPACE, LAUNCH_FAILED, NOT_SUPPORTED, UNKNOWN = 716, 717, 719, 801, 999
"""Values of CUresult in cuda.h."""
REFUSED = {
    "cublas": "CUBLAS_STATUS_NOT_SUPPORTED", "cufft": "CUFFT_NOT_SUPPORTED", "curand": "CURAND_STATUS_TYPE_ERROR",
    "cusolver": "CUSOLVER_STATUS_NOT_SUPPORTED", "cusparse": "CUSPARSE_STATUS_NOT_SUPPORTED",
    "cuda": "cudaErrorNotSupported", "cu": "CUDA_ERROR_NOT_SUPPORTED",
}  # fmt: skip
"""What functions that are not provided return, by how their names begin."""


def of_missing(name: str) -> str:
    """What a function that is not provided returns. What has no name may be asked for by functions of the runtime or of
    the driver: cudaErrorNotSupported, which is the same number."""
    return next((one for library, one in REFUSED.items() if name.startswith(library)), "cudaErrorNotSupported")


def status_of(fault: Fault) -> int:
    """The CUresult that CUDA would return for an error."""
    text = str(fault)
    for words, status in (
        ("illegal instruction", ILLEGAL_INSTRUCTION),
        ("misaligned", MISALIGNED),
        ("out of bounds", ILLEGAL_ADDRESS),
        ("lies in no buffer", ILLEGAL_ADDRESS),
        ("at an address of", INVALID_ADDRESS_SPACE),
        ("bytes below the addresses of", ILLEGAL_ADDRESS),
        ("calls nest too deep", ILLEGAL_ADDRESS),
        ("no instruction begins", ILLEGAL_INSTRUCTION),
        ("assertion `", ASSERT),
        ("a barrier that not all can reach", TIMEOUT),
        ("the instruction limit is used up", TIMEOUT),
    ):
        if words in text:
            return status
    return LAUNCH_FAILED

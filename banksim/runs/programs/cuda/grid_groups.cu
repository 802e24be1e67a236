/* What numba-cuda links for numba.cuda.cg.this_grid() in place of NVIDIA's device runtime. NVIDIA's calls into the
   driver, whose code for it is not published. cooperative_groups does the same without it. */
#include <cooperative_groups.h>

extern "C" __device__ unsigned long long cudaCGGetIntrinsicHandle(cudaCGScope scope) { return scope == cudaCGScopeGrid; }

extern "C" __device__ cudaError_t cudaCGSynchronize(unsigned long long handle, unsigned flags) {
    cooperative_groups::this_grid().sync();
    return cudaSuccess;
}

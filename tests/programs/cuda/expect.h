// What programs of the tests expect of a call or a value: where it is otherwise, a line says so.
#include <cstdio>
#include <cuda_runtime.h>

#define OK(CALL)                                                                                     \
    do {                                                                                             \
        cudaError_t status_ = CALL;                                                                  \
        if (status_) printf("line %d: %s\n", __LINE__, cudaGetErrorName(status_));                   \
    } while (0)
#define IS(VALUE, WANTED)                                                                            \
    do {                                                                                             \
        long long got_ = (long long)(VALUE), wanted_ = (long long)(WANTED);                          \
        if (got_ != wanted_) printf("line %d: %s is %lld, not %lld\n", __LINE__, #VALUE, got_, wanted_); \
    } while (0)

// What programs of the tests expect of a call (of any of NVIDIA's libraries) or a value: where it is otherwise, a line says so.
#include <cstdio>
#include <cuda_runtime.h>

#define OK(CALL) IS(CALL, 0)
#define IS(VALUE, WANTED)                                                                            \
    do {                                                                                             \
        long long got_ = (long long)(VALUE), wanted_ = (long long)(WANTED);                          \
        if (got_ != wanted_) printf("line %d: %s is %lld, not %lld\n", __LINE__, #VALUE, got_, wanted_); \
    } while (0)

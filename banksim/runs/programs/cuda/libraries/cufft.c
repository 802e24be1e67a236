/* The stand-in for libcufft.so.12. libraries/cufft.py computes the transforms. */
#include "cufftXt.h"
#include "library_calls.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIMENSIONS = 3 };
struct layout { /* how values lie: the sizes that they are stored in, and how far apart values and transforms are */
    long long sizes[MOST_DIMENSIONS], stride, distance;
};
struct plan {
    bool live, made, given; /* `given`: the layouts are the program's, and not those of packed values */
    cufftType type;
    long long rank, sizes[MOST_DIMENSIONS], batch;
    struct layout input, output;
    cudaStream_t stream;
};
static struct plan *plans;
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A copy of what a handle stands for, or of what is changed by `change`. */
static bool with_plan(cufftHandle handle, void (*change)(struct plan *, const void *), const void *value,
                      struct plan *copy) {
    pthread_mutex_lock(&lock);
    bool known = handle >= 1 && handle <= count && plans[handle - 1].live;
    if (known && change) change(&plans[handle - 1], value);
    if (known && copy) *copy = plans[handle - 1];
    pthread_mutex_unlock(&lock);
    return known;
}
static cufftResult result(bool known) { return known ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }

cufftResult cufftCreate(cufftHandle *handle) {
    if (!handle) return CUFFT_INVALID_VALUE;
    if (banksim_connect() || banksim_fault) return CUFFT_SETUP_FAILED;
    pthread_mutex_lock(&lock);
    int place = 0;
    while (place < count && plans[place].live) place++;
    if (place == count) plans = banksim_resized(plans, ++count * sizeof *plans);
    plans[place] = (struct plan){.live = true};
    *handle = place + 1;
    pthread_mutex_unlock(&lock);
    return CUFFT_SUCCESS;
}
static void set_whole(struct plan *plan, const void *made) {
    cudaStream_t stream = plan->stream;
    *plan = *(const struct plan *)made;
    plan->stream = stream;
}
static void destroy(struct plan *plan, const void *unused) { plan->live = false; }
static void set_stream(struct plan *plan, const void *stream) { plan->stream = (cudaStream_t)stream; }

cufftResult cufftDestroy(cufftHandle handle) { return result(with_plan(handle, destroy, NULL, NULL)); }
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
    return result(with_plan(handle, set_stream, stream, NULL));
}
cufftResult cufftSetWorkArea(cufftHandle handle, void *area) { return result(with_plan(handle, NULL, NULL, NULL)); }
cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocate) {
    return result(with_plan(handle, NULL, NULL, NULL));
}
cufftResult cufftGetVersion(int *version) {
    if (version) *version = CUFFT_VERSION;
    return CUFFT_SUCCESS;
}
cufftResult cufftGetProperty(libraryPropertyType property, int *value) {
    const int versions[] = {CUFFT_VER_MAJOR, CUFFT_VER_MINOR, CUFFT_VER_PATCH};
    if ((unsigned)property > PATCH_LEVEL) return CUFFT_INVALID_TYPE;
    if (!value) return CUFFT_INVALID_VALUE;
    *value = versions[property];
    return CUFFT_SUCCESS;
}

static const struct transform {
    cufftType type;
    const char *name;
    cudaDataType input, output, real, complex; /* the last two: of the same precision */
    int direction;                             /* 0: either */
} transforms[] = {
    {CUFFT_R2C, "R2C", CUDA_R_32F, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_FORWARD},
    {CUFFT_C2R, "C2R", CUDA_C_32F, CUDA_R_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_INVERSE},
    {CUFFT_C2C, "C2C", CUDA_C_32F, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, 0},
    {CUFFT_D2Z, "D2Z", CUDA_R_64F, CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, CUFFT_FORWARD},
    {CUFFT_Z2D, "Z2D", CUDA_C_64F, CUDA_R_64F, CUDA_R_64F, CUDA_C_64F, CUFFT_INVERSE},
    {CUFFT_Z2Z, "Z2Z", CUDA_C_64F, CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, 0},
};
static const struct transform *transform_of(cufftType type) {
    for (size_t k = 0; k < sizeof transforms / sizeof *transforms; k++)
        if (transforms[k].type == type) return &transforms[k];
    return NULL;
}

static size_t complex_bytes(const struct transform *transform) {
    return transform->complex == CUDA_C_64F ? sizeof(cufftDoubleComplex) : sizeof(cufftComplex);
}

/* What a transform needs beside its values, which here is nothing. An H200's cuFFT needs nothing of one dimension up to
   4,096 either, and room for the complex values once at powers of two above; other sizes are believable ones. */
static size_t work_bytes(const struct plan *plan) {
    const struct transform *transform = transform_of(plan->type);
    size_t bytes = complex_bytes(transform) * plan->batch;
    if (plan->rank == 1 && plan->sizes[0] <= 4096) return 0;
    for (int axis = 0; axis < plan->rank; axis++)
        bytes *= transform->direction && axis == plan->rank - 1 ? plan->sizes[axis] / 2 + 1 : plan->sizes[axis];
    return bytes;
}
static cufftResult describe(struct plan *plan, int rank, const long long *sizes, const struct layout *input,
                            const struct layout *output, cufftType type, long long batch) {
    if (rank < 1 || rank > MOST_DIMENSIONS || !sizes) return CUFFT_INVALID_VALUE;
    if (!transform_of(type)) return CUFFT_INVALID_TYPE;
    if (batch < 1) return CUFFT_INVALID_SIZE;
    *plan = (struct plan){.live = true, .made = true, .given = input, .type = type, .rank = rank, .batch = batch};
    for (int axis = 0; axis < rank; axis++) {
        if (sizes[axis] < 1) return CUFFT_INVALID_SIZE;
        plan->sizes[axis] = sizes[axis];
    }
    if (input) plan->input = *input, plan->output = *output;
    return CUFFT_SUCCESS;
}
static cufftResult make(cufftHandle handle, int rank, const long long *sizes, const struct layout *input,
                        const struct layout *output, cufftType type, long long batch, size_t *bytes) {
    struct plan made;
    if (!with_plan(handle, NULL, NULL, &made) || made.made) return CUFFT_INVALID_PLAN;
    if (!bytes) return CUFFT_INVALID_VALUE;
    cufftResult status = describe(&made, rank, sizes, input, output, type, batch);
    if (status) return status;
    *bytes = work_bytes(&made);
    return result(with_plan(handle, set_whole, &made, NULL));
}
static cufftResult estimate(int rank, const long long *sizes, cufftType type, long long batch, size_t *bytes) {
    struct plan made;
    if (!bytes) return CUFFT_INVALID_VALUE;
    cufftResult status = describe(&made, rank, sizes, NULL, NULL, type, batch);
    if (!status) *bytes = work_bytes(&made);
    return status;
}
cufftResult cufftGetSize(cufftHandle handle, size_t *bytes) {
    struct plan plan;
    if (!bytes) return CUFFT_INVALID_VALUE;
    if (!with_plan(handle, NULL, NULL, &plan) || !plan.made) return CUFFT_INVALID_PLAN;
    *bytes = work_bytes(&plan);
    return CUFFT_SUCCESS;
}

/* Each way to name sizes comes as four functions: they make a plan and its handle, make a plan, or tell a size, of a plan
   or without one. */
#define SIZES(...) ((const long long[]){__VA_ARGS__})
#define FOUR(NAME, PARAMETERS, RANK, LENGTHS, BATCH)                                                    \
    cufftResult cufftMakePlan##NAME(cufftHandle plan, PARAMETERS, size_t *bytes) {                      \
        return make(plan, RANK, LENGTHS, NULL, NULL, type, BATCH, bytes);                               \
    }                                                                                                   \
    cufftResult cufftPlan##NAME(cufftHandle *plan, PARAMETERS) {                                        \
        size_t bytes;                                                                                   \
        cufftResult status = cufftCreate(plan);                                                         \
        if (!status && (status = make(*plan, RANK, LENGTHS, NULL, NULL, type, BATCH, &bytes)))          \
            cufftDestroy(*plan);                                                                        \
        return status;                                                                                  \
    }                                                                                                   \
    cufftResult cufftEstimate##NAME(PARAMETERS, size_t *bytes) {                                        \
        return estimate(RANK, LENGTHS, type, BATCH, bytes);                                             \
    }                                                                                                   \
    cufftResult cufftGetSize##NAME(cufftHandle plan, PARAMETERS, size_t *bytes) {                       \
        if (!with_plan(plan, NULL, NULL, NULL)) return CUFFT_INVALID_PLAN;                              \
        return estimate(RANK, LENGTHS, type, BATCH, bytes);                                             \
    }
#define ALL(...) __VA_ARGS__
FOUR(1d, ALL(int nx, cufftType type, int batch), 1, SIZES(nx), batch)
FOUR(2d, ALL(int nx, int ny, cufftType type), 2, SIZES(nx, ny), 1)
FOUR(3d, ALL(int nx, int ny, int nz, cufftType type), 3, SIZES(nx, ny, nz), 1)

cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                                long long idist, long long *onembed, long long ostride, long long odist, cufftType type,
                                long long batch, size_t *bytes) {
    if (!inembed != !onembed) return CUFFT_INVALID_VALUE;
    if (!inembed) return make(plan, rank, n, NULL, NULL, type, batch, bytes);
    struct layout input = {.stride = istride, .distance = idist}, output = {.stride = ostride, .distance = odist};
    for (int axis = 0; axis < rank && axis < MOST_DIMENSIONS; axis++)
        input.sizes[axis] = inembed[axis], output.sizes[axis] = onembed[axis];
    return make(plan, rank, n, &input, &output, type, batch, bytes);
}
static long long *wide(int rank, const int *sizes, long long *to) {
    for (int axis = 0; sizes && axis < rank && axis < MOST_DIMENSIONS; axis++) to[axis] = sizes[axis];
    return sizes ? to : NULL;
}
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *bytes) {
    long long sizes[MOST_DIMENSIONS], in[MOST_DIMENSIONS], out[MOST_DIMENSIONS];
    return cufftMakePlanMany64(plan, rank, wide(rank, n, sizes), wide(rank, inembed, in), istride, idist,
                               wide(rank, onembed, out), ostride, odist, type, batch, bytes);
}
cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                          int ostride, int odist, cufftType type, int batch) {
    size_t bytes;
    cufftResult status = cufftCreate(plan);
    if (!status && (status = cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type,
                                               batch, &bytes)))
        cufftDestroy(*plan);
    return status;
}
cufftResult cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                              int odist, cufftType type, int batch, size_t *bytes) {
    long long sizes[MOST_DIMENSIONS];
    return estimate(rank, wide(rank, n, sizes), type, batch, bytes);
}
cufftResult cufftGetSizeMany64(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
                               long long idist, long long *onembed, long long ostride, long long odist, cufftType type,
                               long long batch, size_t *bytes) {
    if (!with_plan(plan, NULL, NULL, NULL)) return CUFFT_INVALID_PLAN;
    return estimate(rank, n, type, batch, bytes);
}
cufftResult cufftGetSizeMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                             int ostride, int odist, cufftType type, int batch, size_t *bytes) {
    if (!with_plan(plan, NULL, NULL, NULL)) return CUFFT_INVALID_PLAN;
    return cufftEstimateMany(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);
}

/* The transform between two types of values, by way of a third: as an H200's cuFFT takes them. */
static cufftResult between(cudaDataType input, cudaDataType output, cudaDataType execution, cufftType *type) {
    switch (execution) {
    case CUDA_R_16F: case CUDA_C_16F: case CUDA_R_16BF: case CUDA_C_16BF:
        banksim_missing("cufftXtMakePlanMany of half precision");
        return CUFFT_NOT_SUPPORTED;
    default: break;
    }
    for (size_t k = 0; k < sizeof transforms / sizeof *transforms; k++) {
        const struct transform *t = &transforms[k];
        if (t->input != input || t->output != output || (execution != t->real && execution != t->complex)) continue;
        *type = t->type;
        return CUFFT_SUCCESS;
    }
    return CUFFT_INVALID_TYPE;
}
#define BY_TYPES(NAME, SAME)                                                                                           \
    cufftResult NAME(cufftHandle plan, int rank, long long *n, long long *inembed, long long istride, long long idist, \
                     cudaDataType input, long long *onembed, long long ostride, long long odist, cudaDataType output,  \
                     long long batch, size_t *bytes, cudaDataType execution) {                                         \
        cufftType type;                                                                                                \
        cufftResult status = between(input, output, execution, &type);                                                 \
        return status ? status                                                                                         \
                      : SAME(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, bytes);     \
    }
BY_TYPES(cufftXtMakePlanMany, cufftMakePlanMany64)
BY_TYPES(cufftXtGetSizeMany, cufftGetSizeMany64)

/* Packed values: transforms follow each other. Of a real transform's complex side the last axis has only the half that
   tells the other; and in place, the real side has room for it. */
static struct layout packed(const struct plan *plan, bool complex_side, bool in_place) {
    bool real = transform_of(plan->type)->direction;
    struct layout layout = {.stride = 1, .distance = 1};
    for (int axis = 0; axis < plan->rank; axis++) {
        long long size = plan->sizes[axis];
        if (real && axis == plan->rank - 1) {
            long long half = size / 2 + 1;
            size = complex_side ? half : in_place ? 2 * half : size;
        }
        layout.sizes[axis] = size;
        layout.distance *= size;
    }
    return layout;
}
/* The plan says what is transformed, whichever function executes it, as on an H200. */
cufftResult cufftXtExec(cufftHandle handle, void *from, void *to, int direction) {
    struct plan plan;
    if (!with_plan(handle, NULL, NULL, &plan) || !plan.made) return CUFFT_INVALID_PLAN;
    const struct transform *transform = transform_of(plan.type);
    if (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) return CUFFT_INVALID_VALUE;
    if (transform->direction && direction != transform->direction) return CUFFT_INVALID_VALUE;
    if (((uintptr_t)from | (uintptr_t)to) % complex_bytes(transform)) return CUFFT_INVALID_VALUE;
    if (!from || !to) return CUFFT_EXEC_FAILED; /* of a complex result; an H200 faults at other null addresses */
    if (!plan.given) {
        plan.input = packed(&plan, transform->input == transform->complex, from == to);
        plan.output = packed(&plan, transform->output == transform->complex, from == to);
    }
    enum { SIDE = MOST_DIMENSIONS + 2, HEAD = 5 + MOST_DIMENSIONS };
    uint64_t words[HEAD + 2 * SIDE] = {(uint64_t)(uintptr_t)from, (uint64_t)(uintptr_t)to, direction, plan.rank, plan.batch};
    memcpy(words + 5, plan.sizes, sizeof plan.sizes);
    memcpy(words + HEAD, &plan.input, SIDE * sizeof *words);
    memcpy(words + HEAD + SIDE, &plan.output, SIDE * sizeof *words);
    CUresult failed = banksim_compute(plan.stream, "cuFFT", transform->name, words, sizeof words / sizeof *words, NULL, 0);
    return failed ? CUFFT_EXEC_FAILED : CUFFT_SUCCESS;
}
#define EXECUTE(NAME, FROM, TO)                                                        \
    cufftResult cufftExec##NAME(cufftHandle plan, FROM *from, TO *to, int direction) { \
        return cufftXtExec(plan, from, to, direction);                                 \
    }
EXECUTE(C2C, cufftComplex, cufftComplex)
EXECUTE(Z2Z, cufftDoubleComplex, cufftDoubleComplex)
#define EXECUTE_ONE_WAY(NAME, FROM, TO, DIRECTION)                              \
    cufftResult cufftExec##NAME(cufftHandle plan, FROM *from, TO *to) {         \
        return cufftXtExec(plan, from, to, DIRECTION);                          \
    }
EXECUTE_ONE_WAY(R2C, cufftReal, cufftComplex, CUFFT_FORWARD)
EXECUTE_ONE_WAY(D2Z, cufftDoubleReal, cufftDoubleComplex, CUFFT_FORWARD)
EXECUTE_ONE_WAY(C2R, cufftComplex, cufftReal, CUFFT_INVERSE)
EXECUTE_ONE_WAY(Z2D, cufftDoubleComplex, cufftDoubleReal, CUFFT_INVERSE)

/* What NVIDIA's own header declares beyond that. */
#define MISSING(NAME)                \
    cufftResult NAME(void) {         \
        banksim_missing(#NAME);      \
        return CUFFT_NOT_SUPPORTED;  \
    }
MISSING(cufftXtSetGPUs)
MISSING(cufftXtMalloc)
MISSING(cufftXtMemcpy)
MISSING(cufftXtFree)
MISSING(cufftXtSetWorkArea)
MISSING(cufftXtSetWorkAreaPolicy)
MISSING(cufftXtQueryPlan)
MISSING(cufftXtExecDescriptor)
MISSING(cufftXtExecDescriptorC2C)
MISSING(cufftXtExecDescriptorR2C)
MISSING(cufftXtExecDescriptorC2R)
MISSING(cufftXtExecDescriptorZ2Z)
MISSING(cufftXtExecDescriptorD2Z)
MISSING(cufftXtExecDescriptorZ2D)
MISSING(cufftXtSetCallback)
MISSING(cufftXtSetJITCallback)
MISSING(cufftXtClearCallback)
MISSING(cufftXtSetCallbackSharedSize)
MISSING(cufftXtSetSubformatDefault)
MISSING(cufftSetPlanPropertyInt64)
MISSING(cufftGetPlanPropertyInt64)
MISSING(cufftResetPlanProperty)

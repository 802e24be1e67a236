/* The stand-in for libcurand.so.10: generators that the host calls. libraries/curand.py
   computes their numbers. */
#include "curand.h"
#include "library_calls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct curandGenerator_st {
    curandRngType_t type;
    cudaStream_t stream;
    curandOrdering_t ordering;
    unsigned long long seed, offset, taken;
    unsigned long long serial; /* a new one whenever the numbers begin anew */
    unsigned dimensions;
    bool host;
};

static unsigned long long begin_anew(void) {
    static unsigned long long last;
    return (uint64_t)getpid() << 32 | __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static bool quasi(curandGenerator_t generator) { return generator->type >= CURAND_RNG_QUASI_DEFAULT; }
static bool of_64_bits(curandGenerator_t generator) { return generator->type == CURAND_RNG_QUASI_SOBOL64; }

static curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, bool host) {
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32:
    case CURAND_RNG_QUASI_SOBOL64: break;
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
        banksim_missing("curandCreateGenerator of scrambled quasirandom numbers");
        return CURAND_STATUS_TYPE_ERROR;
    default: return CURAND_STATUS_TYPE_ERROR;
    }
    if (banksim_connect() || banksim_fault) return CURAND_STATUS_INITIALIZATION_FAILED;
    *generator = banksim_zeroed(sizeof **generator);
    (*generator)->type = type;
    (*generator)->host = host;
    (*generator)->ordering = quasi(*generator) ? CURAND_ORDERING_QUASI_DEFAULT : CURAND_ORDERING_PSEUDO_DEFAULT;
    (*generator)->dimensions = 1;
    (*generator)->serial = begin_anew();
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type) {
    return create(generator, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type) {
    return create(generator, type, true);
}
#define NEED(g) \
    if (!(g)) return CURAND_STATUS_NOT_INITIALIZED
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    NEED(generator);
    free(generator);
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int *version) {
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
    NEED(generator);
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
    NEED(generator);
    if (quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
    generator->seed = seed;
    generator->offset = generator->taken = 0;
    generator->serial = begin_anew();
    return CURAND_STATUS_SUCCESS;
}
static bool of_twister(curandGenerator_t generator) {
    return generator->type == CURAND_RNG_PSEUDO_MTGP32 || generator->type == CURAND_RNG_PSEUDO_MT19937;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    NEED(generator);
    if (of_twister(generator)) return CURAND_STATUS_TYPE_ERROR;
    generator->offset = offset;
    generator->taken = 0;
    generator->serial = begin_anew();
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
    NEED(generator);
    bool xorwow = generator->type == CURAND_RNG_PSEUDO_DEFAULT || generator->type == CURAND_RNG_PSEUDO_XORWOW;
    bool known = order >= CURAND_ORDERING_PSEUDO_BEST && order <= CURAND_ORDERING_PSEUDO_DYNAMIC;
    if (!(quasi(generator) ? order == CURAND_ORDERING_QUASI_DEFAULT : known) || (order == CURAND_ORDERING_PSEUDO_SEEDED && !xorwow) ||
        (order == CURAND_ORDERING_PSEUDO_DYNAMIC && generator->type == CURAND_RNG_PSEUDO_MT19937))
        return CURAND_STATUS_OUT_OF_RANGE;
    generator->ordering = order;
    generator->serial = begin_anew();
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned dimensions) {
    NEED(generator);
    if (!quasi(generator)) return CURAND_STATUS_TYPE_ERROR;
    if (!dimensions || dimensions > 20000) return CURAND_STATUS_OUT_OF_RANGE; /* documented */
    generator->dimensions = dimensions;
    generator->taken = 0;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
    NEED(generator);
    return CURAND_STATUS_SUCCESS;
}

static uint64_t bits(double value) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* banksim writes numbers for the device straight to its memory, and sends those for host memory as bytes of the
   answer. */
static curandStatus_t generate(curandGenerator_t g, const char *name, void *to, size_t count, size_t size, double first,
                               double second) {
    NEED(g);
    if (!count) return CURAND_STATUS_SUCCESS;
    if (!to) return CURAND_STATUS_OUT_OF_RANGE;
    if (count % g->dimensions) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    const uint64_t words[] = {g->type, g->seed, g->offset, g->taken, g->ordering, g->dimensions,
                              (uint64_t)(uintptr_t)g, g->serial, g->host ? 0 : (uint64_t)(uintptr_t)to, count,
                              bits(first), bits(second)};
    CUresult failed = banksim_compute(g->stream, "cuRAND", name, words, sizeof words / sizeof *words,
                                      g->host ? to : NULL, g->host ? count * size : 0);
    g->taken += count;
    return failed ? CURAND_STATUS_LAUNCH_FAILURE : CURAND_STATUS_SUCCESS;
}
#define GENERATE(NAME, T)                                                             \
    curandStatus_t curand##NAME(curandGenerator_t g, T *to, size_t count) {           \
        return generate(g, #NAME, to, count, sizeof *to, 0, 0);                       \
    }
/* Normal numbers come in pairs, but for quasirandom ones. */
#define DISTRIBUTED(NAME, T)                                                                        \
    curandStatus_t curand##NAME(curandGenerator_t g, T *to, size_t count, T mean, T deviation) {    \
        if (g && !quasi(g) && count % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;                  \
        return generate(g, #NAME, to, count, sizeof *to, mean, deviation);                          \
    }
GENERATE(GenerateUniform, float)
GENERATE(GenerateUniformDouble, double)
DISTRIBUTED(GenerateNormal, float)
DISTRIBUTED(GenerateNormalDouble, double)
DISTRIBUTED(GenerateLogNormal, float)
DISTRIBUTED(GenerateLogNormalDouble, double)
/* Each generator has words of one size. */
curandStatus_t curandGenerate(curandGenerator_t g, unsigned *to, size_t count) {
    if (g && of_64_bits(g)) return CURAND_STATUS_TYPE_ERROR;
    return generate(g, "Generate", to, count, sizeof *to, 0, 0);
}
curandStatus_t curandGenerateLongLong(curandGenerator_t g, unsigned long long *to, size_t count) {
    if (g && !of_64_bits(g)) return CURAND_STATUS_TYPE_ERROR;
    return generate(g, "GenerateLongLong", to, count, sizeof *to, 0, 0);
}
curandStatus_t curandGeneratePoisson(curandGenerator_t g, unsigned *to, size_t count, double lambda) {
    if (!(lambda > 0 && lambda <= 400000)) return CURAND_STATUS_OUT_OF_RANGE; /* documented */
    return generate(g, "GeneratePoisson", to, count, sizeof *to, lambda, 0);
}

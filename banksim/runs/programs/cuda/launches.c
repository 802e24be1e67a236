/* Launches: a kernel's parameters are sent to banksim, which executes it while the program goes on. */
#include "graphs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PARAMETERS 32764 /* bytes (CUDA programming guide, "Kernel Functions") */

struct head { /* as banksim.runs.programs.process reads it */
    uint64_t module;
    uint32_t grid[3], block[3], cluster[3], shared, cooperative, parameters, name; /* a cluster of 0: as compiled */
};
struct launch {
    CUfunction function;
    struct head head;
    char parameters[];
};

CUresult banksim_perform_launch(void *arguments) {
    const struct launch *launch = arguments;
    const struct head *head = &launch->head;
    if (banksim_pending) return CUDA_SUCCESS;
    banksim_flush();
    char *message = banksim_resized(NULL, sizeof *head + head->parameters + head->name);
    memcpy(message, head, sizeof *head);
    memcpy(message + sizeof *head, launch->parameters, head->parameters);
    memcpy(message + sizeof *head + head->parameters, launch->function->name, head->name);
    banksim_launch(message, sizeof *head + head->parameters + head->name, launch->function->prints);
    free(message);
    return CUDA_SUCCESS;
}

/* What a node of a graph launches. The parameters stay in the node's memory. */
CUresult banksim_launch_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p) {
    struct launch *launch = node->arguments;
    const struct head *h = &launch->head;
    CUfunction f = launch->function;
    free(node->parameters);
    node->parameters = banksim_zeroed((f->parameters + 1) * sizeof(void *));
    for (int n = 0; n < f->parameters; n++) node->parameters[n] = launch->parameters + f->offset[n];
    *p = (CUDA_KERNEL_NODE_PARAMS){f,           h->grid[0], h->grid[1],       h->grid[2], h->block[0], h->block[1],
                                   h->block[2], h->shared,  node->parameters, NULL,       NULL,        NULL};
    return CUDA_SUCCESS;
}

/* A node keeps its attributes when its parameters are replaced. */
void banksim_keep_attributes(void *launch, const void *before) {
    const struct head *old = &((const struct launch *)before)->head;
    struct head *new = &((struct launch *)launch)->head;
    new->cooperative = old->cooperative;
    memcpy(new->cluster, old->cluster, sizeof new->cluster);
}

static int parameter_bytes(CUfunction f) {
    int end = 0;
    for (int n = 0; n < f->parameters; n++)
        if (f->offset[n] + f->size[n] > end) end = f->offset[n] + f->size[n];
    return end;
}

static void read_parameters(CUfunction f, char *to, void **each, void **extra) {
    if (each)
        for (int n = 0; n < f->parameters; n++) memcpy(to + f->offset[n], each[n], f->size[n]);
    const void *packed = NULL;
    size_t size = 0;
    for (; !each && extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) packed = extra[1];
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *(size_t *)extra[1];
    }
    size_t room = parameter_bytes(f);
    if (packed) memcpy(to, packed, size < room ? size : room);
}

static CUresult check_cluster(CUfunction f, const struct head *h) {
    uint64_t cluster = (uint64_t)h->cluster[0] * h->cluster[1] * h->cluster[2];
    bool fits = cluster <= (f->large_clusters ? 16 : 8);
    for (int n = 0; fits && cluster && n < 3; n++) fits = h->grid[n] % h->cluster[n] == 0;
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

static CUresult check_shape(CUfunction f, const struct head *h) {
    const int block_limit[3] = {1024, 1024, 64}, grid_limit[3] = {INT_MAX, 65535, 65535};
    for (int n = 0; n < 3; n++)
        if (!h->grid[n] || !h->block[n] || h->grid[n] > (unsigned)grid_limit[n] ||
            h->block[n] > (unsigned)block_limit[n])
            return CUDA_ERROR_INVALID_VALUE;
    CUresult failed = check_cluster(f, h);
    if (failed) return failed;
    uint64_t threads = (uint64_t)h->block[0] * h->block[1] * h->block[2];
    if (threads > (uint64_t)f->bound || (int64_t)h->shared > f->dynamic) return CUDA_ERROR_INVALID_VALUE;
    return threads > (uint64_t)f->threads ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_SUCCESS;
}

static CUresult check_cooperative(CUfunction f, const struct head *h) {
    int blocks;
    CUresult failed = banksim_blocks_per_sm(f, h->block[0] * h->block[1] * h->block[2], h->shared, &blocks);
    if (failed) return failed;
    uint64_t most = (uint64_t)blocks * banksim_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return (uint64_t)h->grid[0] * h->grid[1] * h->grid[2] > most ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
                                                                 : CUDA_SUCCESS;
}

static CUresult submit(CUfunction f, struct head head, CUstream stream, void **each, void **extra) {
    BEGIN();
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    CUresult failed = check_shape(f, &head);
    if (!failed && head.cooperative) failed = check_cooperative(f, &head);
    if (failed) return failed;
    int size = parameter_bytes(f);
    if (size > MOST_PARAMETERS || (size && !each && !extra)) return CUDA_ERROR_INVALID_VALUE;
    struct launch *launch = banksim_zeroed(sizeof *launch + size);
    memcpy(&head.module, f->module, sizeof head.module); /* the first member of a module is its number */
    head.parameters = size;
    head.name = strlen(f->name);
    launch->function = f;
    launch->head = head;
    read_parameters(f, launch->parameters, each, extra);
    failed = banksim_submit(stream, banksim_perform_launch, launch, sizeof *launch + size);
    free(launch);
    return failed;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **each, void **extra) {
    return submit(f, (struct head){.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared}, stream, each, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void **each) {
    struct head head = {.grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared = shared, .cooperative = 1};
    return submit(f, head, stream, each, NULL);
}

/* What an attribute of a launch changes of what is executed. Others are hints. */
static void take_attribute(struct head *head, CUlaunchAttributeID which, const CUlaunchAttributeValue *value) {
    if (which == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) head->cooperative = value->cooperative != 0;
    if (which == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
        memcpy(head->cluster, &value->clusterDim, sizeof head->cluster);
}

static struct head head_of(const CUlaunchConfig *c) {
    struct head head = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                        .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                        .shared = c->sharedMemBytes};
    for (unsigned n = 0; n < c->numAttrs; n++) take_attribute(&head, c->attrs[n].id, &c->attrs[n].value);
    return head;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **each, void **extra) {
    return submit(f, head_of(c), c->hStream, each, extra);
}

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID which, const CUkernelNodeAttrValue *value) {
    if (!node || !value || node->perform != banksim_perform_launch) return CUDA_ERROR_INVALID_VALUE;
    take_attribute(&((struct launch *)node->arguments)->head, which, value);
    if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) node->priority = value->priority;
    return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID which, CUkernelNodeAttrValue *value) {
    if (!node || !value || node->perform != banksim_perform_launch) return CUDA_ERROR_INVALID_VALUE;
    const struct head *head = &((struct launch *)node->arguments)->head;
    switch (which) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: value->cooperative = head->cooperative; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: value->priority = node->priority; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        memcpy(&value->clusterDim, head->cluster, sizeof head->cluster);
        return CUDA_SUCCESS;
    default: return banksim_missing("cuGraphKernelNodeGetAttribute of this attribute");
    }
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
    if (!to || !from || to->perform != banksim_perform_launch || from->perform != banksim_perform_launch)
        return CUDA_ERROR_INVALID_VALUE;
    banksim_keep_attributes(to->arguments, from->arguments);
    to->priority = from->priority;
    return CUDA_SUCCESS;
}

/* ---- occupancy, which banksim computes as NVIDIA's calculator does: the blocks of a multiprocessor or, if `cluster` is
   not 0, the device's clusters of so many blocks */
static CUresult resident(CUfunction f, uint64_t threads, size_t dynamic, uint64_t cluster, int *count) {
    uint64_t message[4] = {threads, f->registers, f->shared + dynamic, cluster};
    struct answer answer = banksim_ask('O', message, sizeof message);
    *count = atoi(answer.bytes);
    free(answer.bytes);
    return answer.status;
}
CUresult banksim_blocks_per_sm(CUfunction f, int threads, size_t dynamic, int *blocks) {
    return resident(f, threads, dynamic, 0, blocks);
}
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction f, const CUlaunchConfig *c) {
    BEGIN();
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!clusters || !c) return CUDA_ERROR_INVALID_VALUE;
    struct head head = head_of(c);
    const unsigned *shape = head.cluster[0] ? head.cluster : f->cluster;
    CUresult failed = check_cluster(f, &head);
    if (failed) return failed;
    uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
    uint64_t size = (uint64_t)shape[0] * shape[1] * shape[2];
    if (size) return resident(f, threads, c->sharedMemBytes, size, clusters);
    GIVE(clusters, 0);
}
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction f, const CUlaunchConfig *c) {
    BEGIN();
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!size || !c) return CUDA_ERROR_INVALID_VALUE;
    uint64_t threads = (uint64_t)c->blockDimX * c->blockDimY * c->blockDimZ;
    for (*size = f->large_clusters ? 16 : 8; *size > 1; --*size) {
        int clusters;
        CUresult failed = resident(f, threads, c->sharedMemBytes, *size, &clusters);
        if (failed || clusters) return failed;
    }
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t dynamic) {
    BEGIN();
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    return threads > 0 ? banksim_blocks_per_sm(f, threads, dynamic, blocks) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction f, int threads, size_t dynamic,
                                                              unsigned flags) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, dynamic);
}
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction f, int blocks, int threads) {
    BEGIN();
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    size_t low = 0, high = banksim_attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - f->shared;
    while (low < high) { /* a search for the most bytes with which so many blocks fit */
        size_t middle = (low + high + 1) / 2;
        int fitting = 0;
        banksim_blocks_per_sm(f, threads, middle, &fitting);
        if (fitting >= blocks) low = middle;
        else high = middle - 1;
    }
    *bytes = low;
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, CUoccupancyB2DSize dynamic_of,
                                          size_t dynamic, int limit) {
    BEGIN();
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    int most = f->threads, best = 0;
    if (limit > 0 && limit < most) most = limit;
    for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) { /* the largest block of the most threads */
        int blocks = 0;
        if (banksim_blocks_per_sm(f, threads, dynamic_of ? dynamic_of(threads) : dynamic, &blocks)) continue;
        if (blocks * threads > best) {
            best = blocks * threads;
            *block = threads;
            *grid = blocks * banksim_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        }
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction f, CUoccupancyB2DSize dynamic_of,
                                                   size_t dynamic, int limit, unsigned flags) {
    return cuOccupancyMaxPotentialBlockSize(grid, block, f, dynamic_of, dynamic, limit);
}

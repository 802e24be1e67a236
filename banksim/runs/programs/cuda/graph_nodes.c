/* The nodes of graphs by what they do (a kernel, a copy, a fill, a function of the host ...), made by hand; and the
   launch of a graph, which does what its nodes do in an order that all dependencies allow. */
#include "graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult submit_nodes(CUgraph graph, CUstream stream) {
    for (CUgraphNode node = graph->first; node; node = node->next) {
        CUresult failed = node->disabled ? CUDA_SUCCESS
                                         : banksim_submit(stream, node->perform, node->arguments, node->size);
        if (failed) return failed;
    }
    return CUDA_SUCCESS;
}

/* ---- nodes by hand */
CUresult banksim_replaced(CUresult failed, CUgraphNode node) {
    CUgraph made = banksim_end_record();
    if (!failed && (!node || (made->first && made->first->perform != node->perform))) failed = CUDA_ERROR_INVALID_VALUE;
    if (!failed && made->first) {
        if (node->perform == banksim_perform_launch)
            banksim_keep_attributes(made->first->arguments, node->arguments);
        free(node->arguments);
        node->size = made->first->size;
        node->arguments = banksim_resized(NULL, node->size + 1);
        memcpy(node->arguments, made->first->arguments, node->size);
    }
    cuGraphDestroy(made);
    return failed;
}

#define MAKE(CALL)    \
    BEGIN();          \
    banksim_record(); \
    return banksim_recorded(CALL, graph, before, count, node)
#define REPLACE(NODE, CALL) \
    BEGIN();                \
    banksim_record();       \
    return banksim_replaced(CALL, NODE)

static CUresult launched(const CUDA_KERNEL_NODE_PARAMS *p) {
    CUfunction f = p->func ? p->func : (CUfunction)p->kern;
    return cuLaunchKernel(f, p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX, p->blockDimY, p->blockDimZ,
                          p->sharedMemBytes, NULL, p->kernelParams, p->extra);
}
CUresult banksim_filled(const CUDA_MEMSET_NODE_PARAMS *p) {
    switch (p->elementSize) {
    case 1: return cuMemsetD2D8Async(p->dst, p->pitch, p->value, p->width, p->height, NULL);
    case 2: return cuMemsetD2D16Async(p->dst, p->pitch, p->value, p->width, p->height, NULL);
    case 4: return cuMemsetD2D32Async(p->dst, p->pitch, p->value, p->width, p->height, NULL);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* Nodes that do what CALL does: one is added, its work is replaced, and so is that of its copy in an executable graph. */
#define NODES(KIND, TYPE, CALL, ...)                                                                                  \
    CUresult cuGraphAdd##KIND##Node(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,        \
                                    const TYPE *p __VA_ARGS__) {                                                      \
        MAKE(CALL);                                                                                                   \
    }                                                                                                                 \
    CUresult cuGraph##KIND##NodeSetParams(CUgraphNode node, const TYPE *p) { REPLACE(node, CALL); }                   \
    CUresult cuGraphExec##KIND##NodeSetParams(CUgraphExec made, CUgraphNode node, const TYPE *p __VA_ARGS__) {        \
        REPLACE(banksim_node_of(made, node), CALL);                                                                   \
    }
NODES(Kernel, CUDA_KERNEL_NODE_PARAMS, launched(p))
NODES(Memcpy, CUDA_MEMCPY3D, cuMemcpy3DAsync(p, NULL), , CUcontext context)
NODES(Memset, CUDA_MEMSET_NODE_PARAMS, banksim_filled(p), , CUcontext context)
NODES(Host, CUDA_HOST_NODE_PARAMS, cuLaunchHostFunc(NULL, p->fn, p->userData))
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *parameters) {
    if (!node || node->perform != banksim_perform_launch) return CUDA_ERROR_INVALID_VALUE;
    return banksim_launch_parameters(node, parameters);
}
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count) {
    MAKE(CUDA_SUCCESS);
}

static CUresult perform_child(void *arguments) { return submit_nodes(*(CUgraph *)arguments, NULL); }
static CUresult child_of(CUgraph child) {
    CUgraph copy;
    CUresult failed = cuGraphClone(&copy, child);
    return failed ? failed : banksim_submit(NULL, perform_child, &copy, sizeof copy);
}
CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  CUgraph child) {
    MAKE(child_of(child));
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child) {
    if (!node || node->perform != perform_child) return CUDA_ERROR_INVALID_VALUE;
    *child = *(CUgraph *)node->arguments;
    return CUDA_SUCCESS;
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec made, CUgraphNode node, CUgraph child) {
    CUgraphNode own = banksim_node_of(made, node);
    if (!own || own->perform != perform_child) return CUDA_ERROR_INVALID_VALUE;
    return cuGraphExecUpdate(*(CUgraphExec *)own->arguments, child, NULL) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
static CUresult perform_record(void *arguments) { return cuEventRecord(*(CUevent *)arguments, NULL); }
static CUresult perform_wait(void *arguments) { return CUDA_SUCCESS; }
static CUresult event_of(banksim_perform perform, CUevent event) {
    return event ? banksim_submit(NULL, perform, &event, sizeof event) : CUDA_ERROR_INVALID_VALUE;
}
#define OF_EVENTS(KIND, PERFORM)                                                                                     \
    CUresult cuGraphAddEvent##KIND##Node(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,   \
                                         CUevent event) {                                                            \
        MAKE(event_of(PERFORM, event));                                                                              \
    }                                                                                                                \
    CUresult cuGraphEvent##KIND##NodeGetEvent(CUgraphNode node, CUevent *event) {                                     \
        if (!node || node->perform != PERFORM) return CUDA_ERROR_INVALID_VALUE;                                       \
        GIVE(event, *(CUevent *)node->arguments);                                                                    \
    }                                                                                                                \
    CUresult cuGraphEvent##KIND##NodeSetEvent(CUgraphNode node, CUevent event) {                                      \
        if (!node || !event || node->perform != PERFORM) return CUDA_ERROR_INVALID_VALUE;                             \
        GIVE((CUevent *)node->arguments, event);                                                                     \
    }                                                                                                                \
    CUresult cuGraphExecEvent##KIND##NodeSetEvent(CUgraphExec made, CUgraphNode node, CUevent event) {                \
        return cuGraphEvent##KIND##NodeSetEvent(banksim_node_of(made, node), event);                                 \
    }
OF_EVENTS(Record, perform_record)
OF_EVENTS(Wait, perform_wait)
CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
    CUresult failed = cuMemAlloc(&parameters->dptr, parameters->bytesize);
    if (failed) return failed;
    banksim_find(parameters->dptr)->of_graph = true;
    MAKE(banksim_submit(NULL, banksim_perform_allocation, parameters, sizeof *parameters));
}
CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                               CUdeviceptr start) {
    MAKE(banksim_submit(NULL, banksim_perform_release, &start, sizeof start));
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
    if (!node || !parameters || node->perform != banksim_perform_allocation) return CUDA_ERROR_INVALID_VALUE;
    GIVE(parameters, *(CUDA_MEM_ALLOC_NODE_PARAMS *)node->arguments);
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *start) {
    if (!node || !start || node->perform != banksim_perform_release) return CUDA_ERROR_INVALID_VALUE;
    GIVE(start, *(CUdeviceptr *)node->arguments);
}

/* ---- conditional nodes
   A handle is the address of a word of the device's memory, to which kernels write the value (driver_calls.py). */
struct condition {
    CUdeviceptr value;
    unsigned initial;
    bool assigned; /* the initial value, at each launch of the graph */
    struct condition *next;
};
static CUresult perform_conditional(void *arguments) {
    const CUDA_CONDITIONAL_NODE_PARAMS *p = arguments;
    bool again = p->type == CU_GRAPH_COND_TYPE_WHILE;
    do {
        unsigned value, chosen = 0;
        CUresult failed = cuMemcpyDtoH(&value, p->handle, sizeof value);
        if (failed) return failed;
        if (p->type == CU_GRAPH_COND_TYPE_SWITCH) chosen = value;
        else if (!value) chosen = again ? p->size : 1;
        if (chosen >= p->size) return CUDA_SUCCESS;
        CUgraph ordered;
        failed = cuGraphClone(&ordered, p->phGraph_out[chosen]);
        if (failed) return failed;
        failed = submit_nodes(ordered, NULL);
        cuGraphDestroy(ordered);
        if (failed) return failed;
    } while (again);
    return CUDA_SUCCESS;
}
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *made, CUgraph graph, CUcontext context,
                                        unsigned initial, unsigned flags) {
    BEGIN();
    if (!made || !graph || flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    struct condition *condition = banksim_zeroed(sizeof *condition);
    *condition = (struct condition){.initial = initial, .assigned = flags, .next = graph->conditions};
    CUresult failed = cuMemAlloc(&condition->value, sizeof initial);
    if (failed) return failed;
    graph->conditions = condition;
    *made = condition->value;
    return CUDA_SUCCESS;
}
static CUresult add_conditional(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                CUDA_CONDITIONAL_NODE_PARAMS *p) {
    unsigned most = p->type == CU_GRAPH_COND_TYPE_WHILE ? 1 : p->type == CU_GRAPH_COND_TYPE_IF ? 2 : UINT32_MAX;
    if (p->type < 0 || p->type > CU_GRAPH_COND_TYPE_SWITCH || !p->size || p->size > most) return CUDA_ERROR_INVALID_VALUE;
    p->phGraph_out = banksim_zeroed(p->size * sizeof *p->phGraph_out);
    for (unsigned n = 0; n < p->size; n++) p->phGraph_out[n] = banksim_new_graph();
    MAKE(banksim_submit(NULL, perform_conditional, p, sizeof *p));
}
/* Before a launch. A body may have conditional nodes of its own. */
static CUresult assign_conditions(CUgraph graph) {
    for (struct condition *one = graph->conditions; one; one = one->next) {
        CUresult failed = one->assigned ? cuMemcpyHtoD(one->value, &one->initial, sizeof one->initial) : CUDA_SUCCESS;
        if (failed) return failed;
    }
    for (CUgraphNode node = graph->first; node; node = node->next) {
        const CUDA_CONDITIONAL_NODE_PARAMS *p = node->arguments;
        for (unsigned n = 0; node->perform == perform_conditional && n < p->size; n++) {
            CUresult failed = assign_conditions(p->phGraph_out[n]);
            if (failed) return failed;
        }
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec made, CUstream stream) {
    BEGIN();
    if (!made) return CUDA_ERROR_INVALID_VALUE;
    CUresult failed = assign_conditions((CUgraph)made);
    if (failed) return failed;
    bool frees = ((CUgraph)made)->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    for (CUgraphNode node = ((CUgraph)made)->first; frees && node; node = node->next)
        if (node->perform == banksim_perform_allocation)
            banksim_perform_release(&((CUDA_MEM_ALLOC_NODE_PARAMS *)node->arguments)->dptr);
    banksim_tell('Q', &(char){true}, 1);
    failed = submit_nodes((CUgraph)made, stream);
    banksim_tell('Q', &(char){false}, 1);
    return failed;
}

/* What a node of these parameters does, given to the graph that this thread records. */
static CUresult described(const CUgraphNodeParams *p) {
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return launched(&(CUDA_KERNEL_NODE_PARAMS){
            p->kernel.func,         p->kernel.gridDimX, p->kernel.gridDimY, p->kernel.gridDimZ,
            p->kernel.blockDimX,    p->kernel.blockDimY, p->kernel.blockDimZ, p->kernel.sharedMemBytes,
            p->kernel.kernelParams, p->kernel.extra,    p->kernel.kern,     p->kernel.ctx});
    case CU_GRAPH_NODE_TYPE_MEMCPY: return cuMemcpy3DAsync(&p->memcpy.copyParams, NULL);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return banksim_filled(&(CUDA_MEMSET_NODE_PARAMS){p->memset.dst, p->memset.pitch, p->memset.value,
                                                         p->memset.elementSize, p->memset.width, p->memset.height});
    case CU_GRAPH_NODE_TYPE_HOST: return cuLaunchHostFunc(NULL, p->host.fn, p->host.userData);
    case CU_GRAPH_NODE_TYPE_GRAPH: return child_of(p->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return event_of(perform_record, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return event_of(perform_wait, p->eventWait.event);
    default: return banksim_missing("a graph's node of this type by cuGraphNodeParams");
    }
}
CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, const CUgraphEdgeData *edges,
                        size_t count, CUgraphNodeParams *p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) return add_conditional(node, graph, before, count, &p->conditional);
    MAKE(described(p));
}
static bool is_of(CUgraphNode node, const CUgraphNodeParams *p) {
    CUgraphNodeType type;
    return node && p && !cuGraphNodeGetType(node, &type) && type == p->type;
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p) {
    if (!is_of(node, p)) return CUDA_ERROR_INVALID_VALUE;
    REPLACE(node, described(p));
}
CUresult cuGraphExecNodeSetParams(CUgraphExec made, CUgraphNode node, CUgraphNodeParams *p) {
    return cuGraphNodeSetParams(banksim_node_of(made, node), p);
}

/* ---- the kind of a node */
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
    const struct {
        banksim_perform perform;
        CUgraphNodeType type;
    } types[] = {{banksim_perform_launch, CU_GRAPH_NODE_TYPE_KERNEL}, {banksim_perform_copy, CU_GRAPH_NODE_TYPE_MEMCPY},
                 {banksim_perform_fill, CU_GRAPH_NODE_TYPE_MEMSET},   {banksim_perform_callback, CU_GRAPH_NODE_TYPE_HOST},
                 {perform_child, CU_GRAPH_NODE_TYPE_GRAPH},           {banksim_perform_nothing, CU_GRAPH_NODE_TYPE_EMPTY},
                 {perform_record, CU_GRAPH_NODE_TYPE_EVENT_RECORD},   {perform_wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT},
                 {banksim_perform_allocation, CU_GRAPH_NODE_TYPE_MEM_ALLOC},
                 {banksim_perform_release, CU_GRAPH_NODE_TYPE_MEM_FREE},
                 {perform_conditional, CU_GRAPH_NODE_TYPE_CONDITIONAL}};
    if (!node || !type) return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (types[n].perform == node->perform) {
            *type = types[n].type;
            return CUDA_SUCCESS;
        }
    return banksim_missing("cuGraphNodeGetType of a library's function");
}

// Only kernels, fills and copies can be turned off, as one H200 answered for every kind of node.
static CUgraphNode switchable(CUgraphExec made, CUgraphNode node) {
    CUgraphNode own = banksim_node_of(made, node);
    bool can = own && (own->perform == banksim_perform_launch || own->perform == banksim_perform_copy ||
                       own->perform == banksim_perform_fill);
    return can ? own : NULL;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec made, CUgraphNode node, unsigned enabled) {
    CUgraphNode own = switchable(made, node);
    if (!own) return CUDA_ERROR_INVALID_VALUE;
    own->disabled = !enabled;
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec made, CUgraphNode node, unsigned *enabled) {
    CUgraphNode own = switchable(made, node);
    if (!own) return CUDA_ERROR_INVALID_VALUE;
    *enabled = !own->disabled;
    return CUDA_SUCCESS;
}

/* A drawing in the language of Graphviz: kernels by their names, other nodes by their kinds. */
CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags) {
    static const char *kinds[] = {"KERNEL",       "MEMCPY",     "MEMSET", "HOST", "GRAPH",     "EMPTY",
                                  "EVENT_RECORD", "EVENT_WAIT", "",       "",     "MEM_ALLOC", "MEM_FREE",
                                  "",             "CONDITIONAL"};
    if (!graph || !path) return CUDA_ERROR_INVALID_VALUE;
    FILE *file = fopen(path, "w");
    if (!file) return CUDA_ERROR_OPERATING_SYSTEM;
    fprintf(file, "digraph dot {\n");
    for (CUgraphNode node = graph->first; node; node = node->next) {
        CUgraphNodeType type;
        CUDA_KERNEL_NODE_PARAMS kernel;
        const char *name = cuGraphNodeGetType(node, &type) ? "" : kinds[type];
        if (*name && type == CU_GRAPH_NODE_TYPE_KERNEL && !cuGraphKernelNodeGetParams(node, &kernel))
            cuFuncGetName(&name, kernel.func);
        fprintf(file, "\"%p\" [shape=\"record\" label=\"%s\"];\n", (void *)node, name);
        for (size_t n = 0; n < node->before_count; n++)
            fprintf(file, "\"%p\" -> \"%p\";\n", (void *)node->before[n], (void *)node);
    }
    fprintf(file, "}\n");
    return fclose(file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

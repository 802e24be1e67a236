/* Graphs: made by capture (streams.c) or by hand, and launched in an order that all dependencies allow.

   A node is made by hand as by capture: the function that would do its work is called while this thread records. */
#include "graphs.h"

#include <stdlib.h>
#include <string.h>

struct CUuserObject_st { /* what graphs keep alive */
    void *object;
    CUhostFn destroy;
    unsigned references;
};
struct kept {
    CUuserObject object;
    unsigned references;
    struct kept *next;
};
struct CUgraph_st {
    CUgraphNode first, *end;
    size_t count;
    struct kept *kept;
};
static __thread CUgraph recorded; /* where what this thread submits goes, while it records */

CUgraph banksim_new_graph(void) {
    CUgraph graph = calloc(1, sizeof *graph);
    graph->end = &graph->first;
    return graph;
}

static CUgraphNode append(CUgraph graph, banksim_perform perform, const void *arguments, size_t size) {
    CUgraphNode node = calloc(1, sizeof *node);
    node->perform = perform;
    node->size = size;
    node->graph = graph;
    node->arguments = malloc(size + 1);
    if (size) memcpy(node->arguments, arguments, size);
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    return node;
}

static void depend(CUgraphNode node, const CUgraphNode *before, size_t count) {
    node->before = realloc(node->before, (node->before_count + count + 1) * sizeof *before);
    if (count) memcpy(node->before + node->before_count, before, count * sizeof *before);
    node->before_count += count;
}

CUresult banksim_capture(CUgraph graph, banksim_perform perform, const void *arguments, size_t size) {
    CUgraphNode last = graph->first;
    while (last && last->next) last = last->next;
    CUgraphNode node = append(graph, perform, arguments, size);
    depend(node, &last, last != NULL);
    return CUDA_SUCCESS;
}

/* ---- recording */
static CUresult nothing(void *arguments) { return CUDA_SUCCESS; }

void banksim_record(void) { recorded = banksim_new_graph(); }

bool banksim_recording(banksim_perform perform, const void *arguments, size_t size) {
    if (recorded) append(recorded, perform, arguments, size);
    return recorded != NULL;
}

CUresult banksim_recorded(CUresult failed, CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *node) {
    CUgraph made = recorded;
    recorded = NULL;
    if (!failed && (!graph || !node || (count && !before))) failed = CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; !failed && n < count; n++)
        if (!before[n] || before[n]->graph != graph) failed = CUDA_ERROR_INVALID_VALUE;
    if (!failed) {
        CUgraphNode one = made->first; /* none: a copy of no bytes */
        *node = one ? append(graph, one->perform, one->arguments, one->size) : append(graph, nothing, NULL, 0);
        depend(*node, before, count);
    }
    cuGraphDestroy(made);
    return failed;
}

CUresult banksim_replaced(CUresult failed, CUgraphNode node) {
    CUgraph made = recorded;
    recorded = NULL;
    if (!failed && !node) failed = CUDA_ERROR_INVALID_VALUE;
    if (!failed && made->first) {
        free(node->arguments);
        node->perform = made->first->perform;
        node->size = made->first->size;
        node->arguments = malloc(node->size + 1);
        memcpy(node->arguments, made->first->arguments, node->size);
    }
    cuGraphDestroy(made);
    return failed;
}

/* ---- graphs */
CUresult cuGraphCreate(CUgraph *graph, unsigned flags) {
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    *graph = banksim_new_graph();
    return CUDA_SUCCESS;
}

static bool ready(const struct CUgraphNode_st *node) {
    for (size_t n = 0; n < node->before_count; n++)
        if (!node->before[n]->done) return false;
    return true;
}

static CUgraphNode copy_of(CUgraph copy, CUgraphNode origin) {
    CUgraphNode one = copy->first;
    while (one && one->origin != origin) one = one->next;
    return one;
}

/* The copy's nodes come in an order that all dependencies allow, the earlier of two first: CUDA_ERROR_INVALID_VALUE for a
   circle. */
CUresult cuUserObjectCreate(CUuserObject *made, void *object, CUhostFn destroy, unsigned references, unsigned flags) {
    if (!made || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
    *made = malloc(sizeof **made);
    **made = (struct CUuserObject_st){object, destroy, references};
    return CUDA_SUCCESS;
}
CUresult cuUserObjectRetain(CUuserObject object, unsigned references) {
    if (!object || !references) return CUDA_ERROR_INVALID_VALUE;
    __atomic_add_fetch(&object->references, references, __ATOMIC_SEQ_CST);
    return CUDA_SUCCESS;
}
CUresult cuUserObjectRelease(CUuserObject object, unsigned references) {
    if (!object || !references || references > object->references) return CUDA_ERROR_INVALID_VALUE;
    if (__atomic_sub_fetch(&object->references, references, __ATOMIC_SEQ_CST)) return CUDA_SUCCESS;
    object->destroy(object->object);
    free(object);
    return CUDA_SUCCESS;
}
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned references, unsigned flags) {
    if (!graph || !object || !references) return CUDA_ERROR_INVALID_VALUE;
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE)) cuUserObjectRetain(object, references);
    struct kept *kept = malloc(sizeof *kept);
    *kept = (struct kept){object, references, graph->kept};
    graph->kept = kept;
    return CUDA_SUCCESS;
}
CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned references) {
    for (struct kept *kept = graph ? graph->kept : NULL; kept; kept = kept->next)
        if (kept->object == object && references <= kept->references) {
            kept->references -= references;
            return cuUserObjectRelease(object, references);
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphClone(CUgraph *copy, CUgraph graph) {
    if (!copy || !graph) return CUDA_ERROR_INVALID_VALUE;
    CUgraph made = banksim_new_graph();
    for (const struct kept *kept = graph->kept; kept; kept = kept->next)
        if (kept->references) cuGraphRetainUserObject(made, kept->object, kept->references, 0);
    for (CUgraphNode node = graph->first; node; node = node->next) node->done = false;
    while (made->count < graph->count) {
        CUgraphNode node = graph->first;
        while (node && (node->done || !ready(node))) node = node->next;
        if (!node) {
            cuGraphDestroy(made);
            return CUDA_ERROR_INVALID_VALUE;
        }
        node->done = true;
        CUgraphNode twin = append(made, node->perform, node->arguments, node->size);
        twin->origin = node;
        twin->disabled = node->disabled;
        for (size_t n = 0; n < node->before_count; n++) {
            CUgraphNode before = copy_of(made, node->before[n]);
            depend(twin, &before, 1);
        }
    }
    *copy = made;
    return CUDA_SUCCESS;
}

static void release(CUgraphNode node) {
    free(node->arguments);
    free(node->before);
    free(node->parameters);
    free(node);
}

CUresult cuGraphDestroy(CUgraph graph) {
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    for (CUgraphNode node = graph->first, next; node; node = next) {
        next = node->next;
        release(node);
    }
    for (struct kept *kept = graph->kept, *next; kept; kept = next) {
        next = kept->next;
        if (kept->references) cuUserObjectRelease(kept->object, kept->references);
        free(kept);
    }
    free(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *made, CUgraph graph, unsigned long long flags) {
    return cuGraphClone((CUgraph *)made, graph);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec *made, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
    CUresult failed = cuGraphClone((CUgraph *)made, graph);
    parameters->result_out = failed ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return failed;
}
CUresult cuGraphExecDestroy(CUgraphExec made) { return cuGraphDestroy((CUgraph)made); }
CUresult cuGraphUpload(CUgraphExec made, CUstream stream) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec made, CUstream stream) {
    BEGIN();
    if (!made) return CUDA_ERROR_INVALID_VALUE;
    for (CUgraphNode node = ((CUgraph)made)->first; node; node = node->next) {
        CUresult failed = node->disabled ? CUDA_SUCCESS
                                         : banksim_submit(stream, node->perform, node->arguments, node->size);
        if (failed) return failed;
    }
    return CUDA_SUCCESS;
}

CUgraphNode banksim_node_of(CUgraphExec made, CUgraphNode node) { return made ? copy_of((CUgraph)made, node) : NULL; }

/* The same work with other arguments: graphs of as many nodes, of the same kinds. */
CUresult cuGraphExecUpdate(CUgraphExec made, CUgraph graph, CUgraphExecUpdateResultInfo *info) {
    CUgraph now;
    CUresult failed = cuGraphClone(&now, graph);
    if (failed) return failed;
    CUgraphNode old = ((CUgraph)made)->first, new = now->first;
    while (old && new && old->perform == new->perform) old = old->next, new = new->next;
    bool same = !old && !new;
    if (info) {
        memset(info, 0, sizeof *info);
        info->result = same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
    if (same) {
        struct CUgraph_st before = *(CUgraph)made;
        *(CUgraph)made = *now;
        if (!now->first) ((CUgraph)made)->end = &((CUgraph)made)->first;
        *now = before;
    }
    cuGraphDestroy(now);
    return same ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

/* ---- nodes by hand: of a kernel, a copy, a fill, a function of the host, ... */
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
static CUresult filled(const CUDA_MEMSET_NODE_PARAMS *p) {
    size_t pitch = p->height > 1 ? p->pitch : p->width * p->elementSize;
    switch (p->elementSize) {
    case 1: return cuMemsetD2D8Async(p->dst, pitch, p->value, p->width, p->height, NULL);
    case 2: return cuMemsetD2D16Async(p->dst, pitch, p->value, p->width, p->height, NULL);
    case 4: return cuMemsetD2D32Async(p->dst, pitch, p->value, p->width, p->height, NULL);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *parameters) {
    MAKE(launched(parameters));
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters) {
    REPLACE(node, launched(parameters));
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec made, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters) {
    REPLACE(banksim_node_of(made, node), launched(parameters));
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *parameters) {
    if (!node || node->perform != banksim_perform_launch) return CUDA_ERROR_INVALID_VALUE;
    return banksim_launch_parameters(node, parameters);
}
CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_MEMCPY3D *copy, CUcontext context) {
    MAKE(cuMemcpy3DAsync(copy, NULL));
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *copy) {
    REPLACE(node, cuMemcpy3DAsync(copy, NULL));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec made, CUgraphNode node, const CUDA_MEMCPY3D *copy,
                                        CUcontext context) {
    REPLACE(banksim_node_of(made, node), cuMemcpy3DAsync(copy, NULL));
}
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *fill, CUcontext context) {
    MAKE(filled(fill));
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill) {
    REPLACE(node, filled(fill));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec made, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *fill,
                                        CUcontext context) {
    REPLACE(banksim_node_of(made, node), filled(fill));
}
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                            const CUDA_HOST_NODE_PARAMS *host) {
    MAKE(cuLaunchHostFunc(NULL, host->fn, host->userData));
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host) {
    REPLACE(node, cuLaunchHostFunc(NULL, host->fn, host->userData));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec made, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *host) {
    REPLACE(banksim_node_of(made, node), cuLaunchHostFunc(NULL, host->fn, host->userData));
}
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count) {
    MAKE(CUDA_SUCCESS);
}

static CUresult perform_child(void *arguments) { return cuGraphLaunch(*(CUgraphExec *)arguments, NULL); }
CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                  CUgraph child) {
    CUgraph copy;
    CUresult failed = cuGraphClone(&copy, child);
    if (failed) return failed;
    MAKE(banksim_submit(NULL, perform_child, &copy, sizeof copy));
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child) {
    if (!node || node->perform != perform_child) return CUDA_ERROR_INVALID_VALUE;
    *child = *(CUgraph *)node->arguments;
    return CUDA_SUCCESS;
}
static CUresult perform_record(void *arguments) { return cuEventRecord(*(CUevent *)arguments, NULL); }
static CUresult perform_wait(void *arguments) { return CUDA_SUCCESS; }
CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                   CUevent event) {
    MAKE(banksim_submit(NULL, perform_record, &event, sizeof event));
}
CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                 CUevent event) {
    MAKE(banksim_submit(NULL, perform_wait, &event, sizeof event));
}
/* Memory of a graph is there from the node's making on, and stays. */
static CUresult perform_allocation(void *arguments) { return CUDA_SUCCESS; }
static CUresult perform_release(void *arguments) { return CUDA_SUCCESS; }
CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS *parameters) {
    CUresult failed = cuMemAlloc(&parameters->dptr, parameters->bytesize);
    if (failed) return failed;
    MAKE(banksim_submit(NULL, perform_allocation, parameters, sizeof *parameters));
}
CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                               CUdeviceptr start) {
    MAKE(banksim_submit(NULL, perform_release, &start, sizeof start));
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, const CUgraphEdgeData *edges,
                        size_t count, CUgraphNodeParams *p) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        CUDA_KERNEL_NODE_PARAMS kernel = {
            p->kernel.func,         p->kernel.gridDimX,       p->kernel.gridDimY,     p->kernel.gridDimZ,
            p->kernel.blockDimX,    p->kernel.blockDimY,      p->kernel.blockDimZ,    p->kernel.sharedMemBytes,
            p->kernel.kernelParams, p->kernel.extra,          p->kernel.kern,         p->kernel.ctx};
        return cuGraphAddKernelNode(node, graph, before, count, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return cuGraphAddMemcpyNode(node, graph, before, count, &p->memcpy.copyParams, NULL);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        CUDA_MEMSET_NODE_PARAMS fill = {p->memset.dst,         p->memset.pitch, p->memset.value,
                                        p->memset.elementSize, p->memset.width, p->memset.height};
        return cuGraphAddMemsetNode(node, graph, before, count, &fill, NULL);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
        CUDA_HOST_NODE_PARAMS host = {p->host.fn, p->host.userData};
        return cuGraphAddHostNode(node, graph, before, count, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: return cuGraphAddChildGraphNode(node, graph, before, count, p->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY: return cuGraphAddEmptyNode(node, graph, before, count);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphAddEventRecordNode(node, graph, before, count, p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return cuGraphAddEventWaitNode(node, graph, before, count, p->eventWait.event);
    default: return banksim_missing("cuGraphAddNode of this type of node");
    }
}

/* ---- what a graph is made of */
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
    const struct {
        banksim_perform perform;
        CUgraphNodeType type;
    } types[] = {{banksim_perform_launch, CU_GRAPH_NODE_TYPE_KERNEL}, {banksim_perform_copy, CU_GRAPH_NODE_TYPE_MEMCPY},
                 {banksim_perform_fill, CU_GRAPH_NODE_TYPE_MEMSET},   {banksim_perform_callback, CU_GRAPH_NODE_TYPE_HOST},
                 {perform_child, CU_GRAPH_NODE_TYPE_GRAPH},           {nothing, CU_GRAPH_NODE_TYPE_EMPTY},
                 {perform_record, CU_GRAPH_NODE_TYPE_EVENT_RECORD},   {perform_wait, CU_GRAPH_NODE_TYPE_WAIT_EVENT},
                 {perform_allocation, CU_GRAPH_NODE_TYPE_MEM_ALLOC},  {perform_release, CU_GRAPH_NODE_TYPE_MEM_FREE}};
    if (!node || !type) return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (types[n].perform == node->perform) {
            *type = types[n].type;
            return CUDA_SUCCESS;
        }
    return banksim_missing("cuGraphNodeGetType of a library's function");
}

/* Lists are asked for twice: how many there are, then for as many. */
struct list {
    CUgraphNode *nodes;
    size_t room, count;
};
static void add(struct list *list, CUgraphNode node) {
    if (list->nodes && list->count < list->room) list->nodes[list->count] = node;
    list->count++;
}
static CUresult listed(struct list list, size_t *count) {
    for (size_t n = list.count; list.nodes && n < list.room; n++) list.nodes[n] = NULL;
    *count = list.nodes && list.room < list.count ? list.room : list.count;
    return CUDA_SUCCESS;
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    struct list found = {nodes, nodes ? *count : 0};
    for (CUgraphNode node = graph->first; node; node = node->next) add(&found, node);
    return listed(found, count);
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    struct list found = {nodes, nodes ? *count : 0};
    for (CUgraphNode node = graph->first; node; node = node->next)
        if (!node->before_count) add(&found, node);
    return listed(found, count);
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges, size_t *count) {
    struct list sources = {from, from ? *count : 0}, targets = {to, to ? *count : 0};
    for (CUgraphNode node = graph->first; node; node = node->next)
        for (size_t n = 0; n < node->before_count; n++) {
            add(&sources, node->before[n]);
            add(&targets, node);
        }
    if (edges) memset(edges, 0, *count * sizeof *edges);
    listed(targets, count);
    return listed(sources, count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count) {
    struct list found = {nodes, nodes ? *count : 0};
    if (edges) memset(edges, 0, *count * sizeof *edges);
    for (size_t n = 0; n < node->before_count; n++) add(&found, node->before[n]);
    return listed(found, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges, size_t *count) {
    struct list found = {nodes, nodes ? *count : 0};
    if (edges) memset(edges, 0, *count * sizeof *edges);
    for (CUgraphNode one = node->graph->first; one; one = one->next)
        for (size_t n = 0; n < one->before_count; n++)
            if (one->before[n] == node) add(&found, one);
    return listed(found, count);
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *edges, size_t count) {
    for (size_t n = 0; n < count; n++)
        if (!from[n] || !to[n] || from[n]->graph != graph || to[n]->graph != graph) return CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; n < count; n++) depend(to[n], &from[n], 1);
    return CUDA_SUCCESS;
}
static void undo_dependency(CUgraphNode node, CUgraphNode before) {
    size_t kept = 0;
    for (size_t n = 0; n < node->before_count; n++)
        if (node->before[n] != before) node->before[kept++] = node->before[n];
    node->before_count = kept;
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count) {
    for (size_t n = 0; n < count; n++) undo_dependency(to[n], from[n]);
    return CUDA_SUCCESS;
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
    CUgraph graph = node->graph;
    CUgraphNode *place = &graph->first;
    for (CUgraphNode one = graph->first; one; one = one->next) undo_dependency(one, node);
    while (*place != node) place = &(*place)->next;
    *place = node->next;
    if (graph->end == &node->next) graph->end = place;
    graph->count--;
    release(node);
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeFindInClone(CUgraphNode *found, CUgraphNode origin, CUgraph copy) {
    *found = copy_of(copy, origin);
    return *found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec made, CUgraphNode node, unsigned enabled) {
    CUgraphNode own = banksim_node_of(made, node);
    if (!own) return CUDA_ERROR_INVALID_VALUE;
    own->disabled = !enabled;
    return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec made, CUgraphNode node, unsigned *enabled) {
    CUgraphNode own = banksim_node_of(made, node);
    if (!own) return CUDA_ERROR_INVALID_VALUE;
    *enabled = !own->disabled;
    return CUDA_SUCCESS;
}

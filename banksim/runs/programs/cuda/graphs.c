/* Graphs, as lists of nodes: how nodes join them and depend on each other, copies, and what a graph is made of.

   Nodes come from the capture of streams (streams.c) or are made by hand (graph_nodes.c). They are made by hand as by
   capture: the function that would do the work is called while this thread records. */
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
static __thread CUgraph recorded; /* while this thread records: the graph that gets what it submits */

CUgraph banksim_new_graph(void) {
    CUgraph graph = banksim_zeroed(sizeof *graph);
    graph->end = &graph->first;
    return graph;
}

static CUgraphNode append(CUgraph graph, banksim_perform perform, const void *arguments, size_t size) {
    CUgraphNode node = banksim_zeroed(sizeof *node);
    node->perform = perform;
    node->size = size;
    node->graph = graph;
    node->arguments = banksim_resized(NULL, size + 1);
    if (size) memcpy(node->arguments, arguments, size);
    *graph->end = node;
    graph->end = &node->next;
    graph->count++;
    return node;
}

static void depend(CUgraphNode node, const CUgraphNode *before, size_t count) {
    node->before = banksim_resized(node->before, (node->before_count + count + 1) * sizeof *before);
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
CUresult banksim_perform_nothing(void *arguments) { return CUDA_SUCCESS; }

void banksim_record(void) { recorded = banksim_new_graph(); }

bool banksim_recording(banksim_perform perform, const void *arguments, size_t size) {
    if (recorded) append(recorded, perform, arguments, size);
    return recorded != NULL;
}

CUgraph banksim_end_record(void) {
    CUgraph made = recorded;
    recorded = NULL;
    return made;
}

CUresult banksim_recorded(CUresult failed, CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *node) {
    CUgraph made = banksim_end_record();
    if (!failed && (!graph || !node || (count && !before))) failed = CUDA_ERROR_INVALID_VALUE;
    for (size_t n = 0; !failed && n < count; n++)
        if (!before[n] || before[n]->graph != graph) failed = CUDA_ERROR_INVALID_VALUE;
    if (!failed) {
        CUgraphNode one = made->first; /* NULL for a copy of no bytes */
        *node = one ? append(graph, one->perform, one->arguments, one->size) : append(graph, banksim_perform_nothing, NULL, 0);
        depend(*node, before, count);
    }
    cuGraphDestroy(made);
    return failed;
}

/* ---- what graphs keep alive */
CUresult cuUserObjectCreate(CUuserObject *made, void *object, CUhostFn destroy, unsigned references, unsigned flags) {
    if (!made || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
    *made = banksim_resized(NULL, sizeof **made);
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
    struct kept *kept = banksim_resized(NULL, sizeof *kept);
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

/* The nodes of the copy are in an order that all dependencies allow; of two that could come next, the earlier comes
   first. CUDA_ERROR_INVALID_VALUE if dependencies go round in a circle. */
CUresult cuGraphClone(CUgraph *copy, CUgraph graph) {
    if (!copy || !graph) return CUDA_ERROR_INVALID_VALUE;
    CUgraph made = banksim_new_graph();
    for (const struct kept *kept = graph->kept; kept; kept = kept->next)
        if (kept->references) cuGraphRetainUserObject(made, kept->object, kept->references, 0);
    made->conditions = graph->conditions;
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
        twin->priority = node->priority;
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
    CUresult failed = cuGraphClone((CUgraph *)made, graph);
    if (!failed) (*(CUgraph *)made)->flags = flags;
    return failed;
}
CUresult cuGraphExecGetFlags(CUgraphExec made, cuuint64_t *flags) {
    if (!made || !flags) return CUDA_ERROR_INVALID_VALUE;
    GIVE(flags, ((CUgraph)made)->flags);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec *made, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters) {
    CUresult failed = cuGraphInstantiateWithFlags(made, graph, parameters->flags);
    parameters->result_out = failed ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return failed;
}
CUresult cuGraphExecDestroy(CUgraphExec made) { return cuGraphDestroy((CUgraph)made); }

CUgraphNode banksim_node_of(CUgraphExec made, CUgraphNode node) { return made ? copy_of((CUgraph)made, node) : NULL; }

/* An executable graph gets other arguments for the same work: those of a graph of as many nodes of the same kinds. */
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

/* ---- what a graph is made of */
/* Programs ask for a list twice: first for its length, then for its entries. */
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

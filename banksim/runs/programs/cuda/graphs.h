/* Graphs: nodes in the order in which they came, each with what must come before it. */
#ifndef BANKSIM_GRAPHS_H
#define BANKSIM_GRAPHS_H

#include "connection.h"

typedef CUresult (*banksim_perform)(void *arguments);

struct CUgraphNode_st {
    banksim_perform perform;
    void *arguments;
    size_t size;
    struct CUgraph_st *graph;
    struct CUgraphNode_st *next;
    CUgraphNode *before; /* its dependencies */
    size_t before_count;
    CUgraphNode origin; /* of a copied node: the node that it is a copy of */
    bool disabled, done;
    int priority; /* of a kernel: a hint */
    void **parameters; /* of a kernel: pointers to its arguments, for programs that ask for them */
};

struct CUgraph_st {
    CUgraphNode first, *end; /* `end`: where the next node is put */
    size_t count;
    struct kept *kept; /* objects of the user's that it keeps alive */
    unsigned long long flags; /* of an executable one: as it was made */
    struct condition *conditions; /* of its conditional nodes; a copy has the same */
};

CUgraph banksim_new_graph(void);
/* Adds work of a captured stream as a node that depends on the last node. */
CUresult banksim_capture(CUgraph graph, banksim_perform perform, const void *arguments, size_t size);

/* From banksim_record on, until banksim_recorded or banksim_replaced, work that this thread gives to streams is not
   done; it becomes a node. */
void banksim_record(void);
CUgraph banksim_end_record(void); /* a graph of what was recorded, to be destroyed */
/* The node joins `graph` and depends on the nodes `before`; or takes the place of another node. `failed`: the result
   of the functions in between. */
CUresult banksim_recorded(CUresult failed, CUgraph graph, const CUgraphNode *before, size_t count, CUgraphNode *node);
CUresult banksim_replaced(CUresult failed, CUgraphNode node);
bool banksim_recording(banksim_perform perform, const void *arguments, size_t size);
/* The node of an executable graph that was made from a node of the original graph. */
CUgraphNode banksim_node_of(CUgraphExec made, CUgraphNode node);

/* What kinds of nodes perform: graphs.c, launches.c, copies.c, streams.c, pools.c. */
CUresult banksim_perform_nothing(void *arguments);
CUresult banksim_perform_launch(void *arguments);
CUresult banksim_perform_copy(void *arguments);
CUresult banksim_perform_fill(void *arguments);
CUresult banksim_perform_callback(void *arguments);
CUresult banksim_perform_allocation(void *arguments);
CUresult banksim_perform_release(void *arguments);
void banksim_keep_attributes(void *launch, const void *before);
CUresult banksim_launch_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *parameters);

#endif

/* Streams, events, and the capture of streams.

   Work for a stream is done at once, in the order of the program, which is one of the orders that streams allow.
   Work for a stream that is being captured becomes a node of a graph (graphs.c). */
#include "graphs.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUstream_st {
    unsigned flags;
    int priority;
    unsigned long long id;
    CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN + 1]; /* as they were set: hints */
    CUgraph capture;
    CUgraphNode last; /* the last node of `capture`, for programs that ask */
    struct CUstream_st *origin; /* the stream whose capture this one has joined */
    struct CUstream_st *next;
};
struct clock { /* as banksim.runs.programs.process writes it */
    uint64_t launches, unknown;
    double microseconds;
};
struct CUevent_st {
    unsigned flags;
    bool recorded;
    bool behind; /* a launch that waited for the program: when that ended is not known */
    struct clock at;
    uint64_t work; /* what streams had been given before */
    CUgraph capture;
    CUstream origin;
};
static uint64_t work;

static struct CUstream_st legacy = {.id = 1}, per_thread = {.id = 2, .next = &legacy};
static struct CUstream_st *streams = &per_thread;
static unsigned long long ids = 2;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static CUstream own(CUstream stream) {
    if (!stream || stream == CU_STREAM_LEGACY) return &legacy;
    return stream == CU_STREAM_PER_THREAD ? &per_thread : stream;
}

/* Whether there is such a stream. Handles of destroyed streams are refused. */
static bool known(CUstream stream) {
    pthread_mutex_lock(&lock);
    struct CUstream_st *one = streams;
    while (one && one != own(stream)) one = one->next;
    pthread_mutex_unlock(&lock);
    return one != NULL;
}

CUresult banksim_submit(CUstream stream, CUresult (*perform)(void *), const void *arguments, size_t size) {
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    CUgraph graph = own(stream)->capture;
    if (banksim_recording(perform, arguments, size)) return CUDA_SUCCESS;
    if (!graph) work++;
    return graph ? banksim_capture(graph, perform, arguments, size) : perform((void *)arguments);
}

/* ---- capture */
/* A node that is captured comes behind all that the graph has, and so behind those that are asked for. */
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *before,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode) {
    BEGIN();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!graph || (count && !before)) return CUDA_ERROR_INVALID_VALUE;
    if (own(stream) == &legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (own(stream)->capture) return CUDA_ERROR_ILLEGAL_STATE;
    own(stream)->capture = graph;
    own(stream)->origin = own(stream);
    return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
    CUgraph graph = banksim_new_graph();
    CUresult failed = cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, mode);
    if (failed) cuGraphDestroy(graph);
    return failed;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    BEGIN();
    if (!known(stream) || !own(stream)->capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (own(stream)->origin != own(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    CUgraph captured = own(stream)->capture;
    for (struct CUstream_st *one = streams; one; one = one->next)
        if (one->capture == captured) one->capture = NULL;
    if (graph) *graph = captured;
    return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    *status = own(stream)->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}
#undef cuStreamGetCaptureInfo
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, const CUgraphEdgeData **edges, size_t *count) {
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    struct CUstream_st *one = own(stream);
    one->last = one->capture ? one->capture->first : NULL;
    while (one->last && one->last->next) one->last = one->last->next;
    if (id) *id = one->id;
    if (graph) *graph = one->capture;
    if (nodes) *nodes = &one->last;
    if (edges) *edges = NULL;
    if (count) *count = one->last != NULL;
    return cuStreamIsCapturing(stream, status);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **nodes, size_t *count) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, NULL, count);
}
#undef cuStreamUpdateCaptureDependencies
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData *edges,
                                              size_t count, unsigned flags) {
    BEGIN();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!own(stream)->capture) return CUDA_ERROR_ILLEGAL_STATE;
    for (size_t n = 0; n < count; n++)
        if (!nodes || !nodes[n] || nodes[n]->graph != own(stream)->capture) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* what is captured comes behind all that the graph has */
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count, unsigned flags) {
    return cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}
/* ---- streams */
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    BEGIN();
    if (!stream) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct CUstream_st *made = banksim_zeroed(sizeof *made);
    *made = (struct CUstream_st){.flags = flags, .priority = priority, .id = ++ids, .next = streams};
    *stream = streams = made;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamDestroy(CUstream stream) {
    BEGIN();
    if (!known(stream) || own(stream) == &legacy || own(stream) == &per_thread) return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    struct CUstream_st **place = &streams;
    while (*place && *place != stream) place = &(*place)->next;
    if (*place) *place = stream->next;
    pthread_mutex_unlock(&lock);
    free(stream);
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
    BEGIN();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (own(stream)->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return banksim_wait();
}
CUresult cuStreamQuery(CUstream stream) {
    BEGIN();
    return known(stream) && banksim_is_waited_for() ? CUDA_ERROR_NOT_READY : cuStreamSynchronize(stream);
}
#define TELLS(NAME, TYPE, FIELD)                                      \
    CUresult NAME(CUstream stream, TYPE *to) {                        \
        if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;         \
        GIVE(to, own(stream)->FIELD);                                 \
    }
TELLS(cuStreamGetPriority, int, priority)
TELLS(cuStreamGetFlags, unsigned, flags)
TELLS(cuStreamGetId, unsigned long long, id)
static bool has_attribute(CUstreamAttrID which) {
    return which == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW || which == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
           which == CU_LAUNCH_ATTRIBUTE_PRIORITY || which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
           which == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}
CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID which, const CUstreamAttrValue *value) {
    BEGIN();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!value || !has_attribute(which)) return CUDA_ERROR_INVALID_VALUE;
    if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) own(stream)->priority = value->priority;
    own(stream)->attributes[which] = *value;
    return CUDA_SUCCESS;
}
CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID which, CUstreamAttrValue *value) {
    BEGIN();
    if (!known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!value || !has_attribute(which)) return CUDA_ERROR_INVALID_VALUE;
    *value = own(stream)->attributes[which];
    if (which == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = own(stream)->priority;
    return CUDA_SUCCESS;
}
CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
    BEGIN();
    if (!known(to) || !known(from)) return CUDA_ERROR_INVALID_HANDLE;
    memcpy(own(to)->attributes, own(from)->attributes, sizeof own(to)->attributes);
    own(to)->priority = own(from)->priority;
    return CUDA_SUCCESS;
}
#undef cuStreamGetCtx
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) { return cuDevicePrimaryCtxRetain(context, 0); }
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device) { GIVE(device, 0); }

struct callback {
    void (*function)(void *);
    CUstreamCallback of_stream;
    CUstream stream;
    void *data;
};
CUresult banksim_perform_callback(void *arguments) {
    struct callback *callback = arguments;
    banksim_wait();
    if (callback->function) callback->function(callback->data);
    else callback->of_stream(callback->stream, banksim_fault, callback->data);
    return CUDA_SUCCESS;
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p) {
    if (!node || !p || node->perform != banksim_perform_callback) return CUDA_ERROR_INVALID_VALUE;
    const struct callback *callback = node->arguments;
    *p = (CUDA_HOST_NODE_PARAMS){.fn = callback->function, .userData = callback->data};
    return CUDA_SUCCESS;
}
#undef cuLaunchHostFunc
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
    BEGIN();
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    return banksim_submit(stream, banksim_perform_callback, &(struct callback){.function = function, .data = data},
                          sizeof(struct callback));
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data, unsigned flags) {
    BEGIN();
    struct callback callback = {.of_stream = function, .stream = stream, .data = data};
    if (!function || flags) return CUDA_ERROR_INVALID_VALUE;
    return banksim_submit(stream, banksim_perform_callback, &callback, sizeof callback);
}

/* ---- events */
static bool untimed; /* no time is simulated: the time between events is never known, and nobody need wait for it */

CUresult cuEventCreate(CUevent *event, unsigned flags) {
    BEGIN();
    if (!event) return CUDA_ERROR_INVALID_VALUE;
    *event = banksim_zeroed(sizeof **event);
    (*event)->flags = flags;
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
    BEGIN();
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    free(event);
    return CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    BEGIN();
    if (!event || !known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    event->at = (struct clock){.unknown = UINT64_MAX};
    event->work = work;
    event->behind = banksim_is_waited_for();
    if (!event->behind && !untimed) {
        struct answer answer = banksim_ask('C', "", 0);
        if (answer.size) memcpy(&event->at, answer.bytes, sizeof event->at);
        else untimed = true;
        free(answer.bytes);
    }
    event->recorded = true;
    event->capture = own(stream)->capture;
    event->origin = own(stream)->origin;
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    BEGIN();
    if (!event || !known(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture && !own(stream)->capture) { /* the stream joins the capture */
        own(stream)->capture = event->capture;
        own(stream)->origin = event->origin;
    }
    return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
    BEGIN();
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    return !event->behind && banksim_is_waited_for() ? CUDA_SUCCESS : banksim_wait();
}
CUresult cuEventQuery(CUevent event) {
    BEGIN();
    return event && event->behind && banksim_is_waited_for() ? CUDA_ERROR_NOT_READY : cuEventSynchronize(event);
}
/* The time of the launches between two events, or of an event where nothing is, if it is simulated. That of copies alone is
   not, and the time that passes here says nothing about a GPU. */
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    BEGIN();
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (!start || !end || !start->recorded || !end->recorded) return CUDA_ERROR_INVALID_HANDLE;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
    banksim_tell('T', "", 0);
    const struct clock *from = &start->at, *to = &end->at;
    bool known = from->unknown == to->unknown && to->unknown != UINT64_MAX;
    known &= from->launches != to->launches || start->work == end->work;
    *milliseconds = known ? (float)((to->microseconds - from->microseconds) / 1000) : NAN;
    return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

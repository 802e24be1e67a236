/* The connection to the banksim process that executes this program's kernels. */
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

CUresult banksim_fault = CUDA_SUCCESS, banksim_pending = CUDA_SUCCESS;
bool banksim_faults_pass;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int server = -1;
static char path[sizeof((struct sockaddr_un *)0)->sun_path];
static bool forked; /* this is a child of a process that was connected: device memory is the parent's */

void banksim_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("banksim: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void send_all(const void *bytes, size_t size) {
    while (size) {
        ssize_t sent = send(server, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) banksim_give_up("banksim does not listen any more");
        bytes = (const char *)bytes + sent;
        size -= sent;
    }
}

static void receive_all(void *bytes, size_t size) {
    while (size) {
        errno = 0;
        ssize_t received = recv(server, bytes, size, 0);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) banksim_give_up("banksim does not answer any more");
        bytes = (char *)bytes + received;
        size -= received;
    }
}

static void send_file(int file) {
    char byte = 'm';
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof file);
    if (sendmsg(server, &message, MSG_NOSIGNAL) < 0) banksim_give_up("handing over memory");
}

static void tell_no_memory(const char *why) {
    static bool told;
    if (!told)
        banksim_say("no GPU: %llu TiB of addresses, few of which are ever used, cannot be had for its memory (%s): "
                    "is there a limit such as ulimit -v?", BANKSIM_FILE_BYTES >> 40, why);
    told = true;
}

static void in_child(void) {
    if (server >= 0) forked = true;
    pthread_mutex_init(&lock, NULL);
}

/* Before main(), which may change its environment. */
__attribute__((constructor)) static void look_up_path(void) {
    const char *found = getenv("BANKSIM_SOCKET");
    if (found && strlen(found) < sizeof path) strcpy(path, found);
}

static CUresult connect_once(void) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!*path) return CUDA_ERROR_NO_DEVICE;
    strcpy(to.sun_path, path);
    int opened = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), file;
    if (opened < 0 || connect(opened, (struct sockaddr *)&to, sizeof to)) {
        if (opened >= 0) close(opened);
        return CUDA_ERROR_NO_DEVICE; /* the program of `banksim run` that started this process has ended */
    }
    CUresult failed = banksim_share_memory(&file);
    if (failed) {
        tell_no_memory(strerror(errno));
        close(opened);
        return failed;
    }
    server = opened;
    send_file(file);
    close(file);
    uint64_t welcome[2]; /* once this has come, banksim waits for this process, however soon it ends */
    receive_all(welcome, sizeof welcome);
    pthread_atfork(NULL, NULL, in_child);
    return CUDA_SUCCESS;
}

CUresult banksim_connect(void) {
    static bool told;
    CUresult status = CUDA_SUCCESS;
    if (server >= 0 && !forked) return CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (forked) {
        if (!told)
            banksim_say("fork: a child cannot use CUDA after its parent did, on a GPU neither "
                        "(cudaErrorInitializationError): use CUDA after the fork, or start a program");
        told = true;
        status = CUDA_ERROR_NOT_INITIALIZED;
    } else if (server < 0) {
        status = connect_once();
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void send_message(char kind, const void *bytes, size_t size) {
    uint64_t head[2] = {(unsigned char)kind, size};
    char both[1024];
    if (size > sizeof both - sizeof head) {
        send_all(head, sizeof head);
        send_all(bytes, size);
    } else { /* in one piece, as there may be a million of them */
        memcpy(both, head, sizeof head);
        memcpy(both + sizeof head, bytes, size);
        send_all(both, sizeof head + size);
    }
}

void banksim_tell(char kind, const void *bytes, size_t size) {
    if (server < 0 || forked) return;
    pthread_mutex_lock(&lock);
    send_message(kind, bytes, size);
    pthread_mutex_unlock(&lock);
}

static struct answer received(void) {
    uint64_t head[2];
    receive_all(head, sizeof head);
    struct answer answer = {(CUresult)head[0], head[1], banksim_resized(NULL, head[1] + 1)};
    receive_all(answer.bytes, answer.size);
    answer.bytes[answer.size] = 0;
    return answer;
}

static bool posted; /* launches, since banksim was last asked how they ended */
static bool outlasted; /* one of them may wait for the program, which had waited for it */
static bool asked;     /* how they end: the answer has not been read */

static void collect(void) {
    if (!posted) return;
    if (!asked) send_message('E', "", 0);
    struct answer answer = received();
    posted = outlasted = asked = false;
    if (answer.status) banksim_pending = answer.status;
    banksim_print(answer.bytes, answer.size);
    free(answer.bytes);
}

struct answer banksim_ask(char kind, const void *bytes, size_t size) {
    pthread_mutex_lock(&lock);
    if (asked) collect();
    send_message(kind, bytes, size);
    struct answer answer = received();
    pthread_mutex_unlock(&lock);
    return answer;
}

void banksim_post(const void *bytes, size_t size) {
    pthread_mutex_lock(&lock);
    if (asked) collect();
    if (size) send_message('G', bytes, size);
    posted = true;
    outlasted |= !size;
    pthread_mutex_unlock(&lock);
}

bool banksim_is_waited_for(void) {
    pthread_mutex_lock(&lock);
    if (outlasted && !asked) {
        send_message('E', "", 0);
        asked = true;
    }
    bool waits = asked && poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 0) == 0;
    pthread_mutex_unlock(&lock);
    return waits;
}

void banksim_collect(void) {
    pthread_mutex_lock(&lock);
    collect();
    pthread_mutex_unlock(&lock);
}

/* The program's end waits for its launches, unless another thread waits for banksim. */
__attribute__((destructor)) static void collect_at_end(void) {
    if (forked || pthread_mutex_trylock(&lock)) return;
    collect();
    pthread_mutex_unlock(&lock);
}

unsigned banksim_waits;
CUresult banksim_wait(void) {
    banksim_collect();
    banksim_flush();
    banksim_waits++;
    CUresult fault = banksim_fault ? banksim_fault : banksim_pending;
    banksim_fault = fault;
    if (banksim_faults_pass) banksim_fault = banksim_pending = CUDA_SUCCESS;
    return fault;
}

/* Called by banksim.runs.programs.python_program, with the names of a kernel and its arguments. */
void banksim_names(const void *text, size_t size) {
    banksim_faults_pass = true;
    if (!banksim_connect()) banksim_tell('N', text, size);
}

CUresult banksim_missing(const char *name) {
    static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *told[256];
    static int count;
    bool known = false;
    pthread_mutex_lock(&told_lock);
    for (int n = 0; n < count; n++) known |= told[n] == name;
    if (!known && count < 256) told[count++] = name;
    pthread_mutex_unlock(&told_lock);
    if (!known && !banksim_connect()) {
        fflush(stdout);
        banksim_tell('F', name, strlen(name));
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

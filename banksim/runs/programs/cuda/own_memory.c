/* The host's memory for what the stand-ins keep, and the end of a program that cannot go on. */
#include "connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* banksim has ended, or the host has no memory left, so this program cannot go on. */
void banksim_give_up(const char *what) {
    const char *why = errno ? strerror(errno) : "the connection was closed";
    fflush(stdout);
    fprintf(stderr, "banksim: %s: %s\n", what, why);
    _exit(2);
}

void *banksim_resized(void *old, size_t size) {
    void *room = realloc(old, size);
    if (!room && size) banksim_give_up("the host's memory is used up");
    return room;
}

void *banksim_zeroed(size_t size) {
    void *room = calloc(1, size);
    if (!room && size) banksim_give_up("the host's memory is used up");
    return room;
}

/* What kernels printed, which is held back until the program waits for the device. */
#include "connection.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *printed;
static size_t printed_size;

void banksim_print(const char *text, size_t size) {
    if (!size) return;
    pthread_mutex_lock(&lock);
    printed = banksim_resized(printed, printed_size + size);
    memcpy(printed + printed_size, text, size);
    printed_size += size;
    pthread_mutex_unlock(&lock);
}

void banksim_flush(void) {
    pthread_mutex_lock(&lock);
    if (printed_size) fwrite(printed, 1, printed_size, stdout);
    printed_size = 0;
    pthread_mutex_unlock(&lock);
}

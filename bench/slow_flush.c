/* A disk that takes its time: every fsync and fdatasync lasts SLOW_FLUSH_US microseconds (4000) longer. See README.md. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int after_a_while(const char *name, int file) {
    const char *given = getenv("SLOW_FLUSH_US");
    usleep(given ? (useconds_t)atoi(given) : 4000);
    int (*flush)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return flush(file);
}

int fsync(int file) { return after_a_while("fsync", file); }
int fdatasync(int file) { return after_a_while("fdatasync", file); }

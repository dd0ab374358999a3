/* A slow disk, for the one program this is loaded into: what is flushed of a log's journal has reached the disk, but the program
   hears of it so many milliseconds later as the file named by SLOW_DISK says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void hold(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (!strstr(path, ".db-wal")) return;
    const char *control = getenv("SLOW_DISK");
    FILE *file = control ? fopen(control, "r") : NULL;
    if (!file) return;
    unsigned milliseconds = 0;
    if (fscanf(file, "%u", &milliseconds) != 1) milliseconds = 0;
    fclose(file);
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (nanosleep(&time, &time)) {}
}

static int flush(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int done = real(fd);
    hold(fd);
    return done;
}

int fsync(int fd) { return flush("fsync", fd); }
int fdatasync(int fd) { return flush("fdatasync", fd); }

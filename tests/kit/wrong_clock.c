/* A wrong clock, for the one program this is loaded into: so many seconds ahead as the file named by WRONG_CLOCK says. What measures
   how much time passes is right. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = syscall(SYS_clock_gettime, clock, time);
    const char *control = done || clock != CLOCK_REALTIME ? NULL : getenv("WRONG_CLOCK");
    int file = control ? open(control, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return done;
    char text[32] = "";
    if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atol(text);
    close(file);
    return done;
}

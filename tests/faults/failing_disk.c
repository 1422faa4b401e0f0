/* Preloaded into a process: every n-th write or sync of the files of an SQLite database fails as on a bad disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int fails(int file) {
    static int count;
    char link[64], path[512];
    const char *every = getenv("TEST_FAIL_EVERY");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!every || length < 0) return 0;
    path[length] = 0;
    if (!strstr(path, ".db") || strstr(path, "/metrics/") || strstr(path, "-shm")) return 0;
    if (__sync_add_and_fetch(&count, 1) % atoi(every)) return 0;
    const char *told = getenv("TEST_FAIL_COUNT");
    FILE *tally = told ? fopen(told, "a") : NULL;
    if (tally) { fputs("x", tally); fclose(tally); }
    errno = EIO;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    return fails(file) ? -1 : REAL(pwrite64)(file, data, size, at);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    return fails(file) ? -1 : REAL(pwrite)(file, data, size, at);
}
ssize_t write(int file, const void *data, size_t size) { return fails(file) ? -1 : REAL(write)(file, data, size); }
int fsync(int file) { return fails(file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return fails(file) ? -1 : REAL(fdatasync)(file); }

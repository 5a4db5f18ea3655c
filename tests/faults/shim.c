/* Makes the Nth file system call below a folder fail, fall short, or be the process's last.

   Loaded with LD_PRELOAD. Unarmed it only forwards. One counter serves all threads. The test arms it:

       shim_arm("/folder", n, what, code)   n = 0 only counts; what: see below; code: an errno for FAIL
       shim_count()                         calls seen since
       shim_name()                          the function that was hit, or ""

   Build: gcc -shared -fPIC -O1 -o shim.so shim.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KILL_BEFORE = 1, KILL_AFTER = 2, FAIL = 3, SHORT = 4 };

static char under[PATH_MAX];
static int target, action, error_code;
static atomic_int seen;
static const char *hit_name = "";

void shim_arm(const char *folder, int n, int what, int code)
{
    snprintf(under, sizeof under, "%s", folder);
    target = n;
    action = what;
    error_code = code;
    hit_name = "";
    seen = 0;
}

int shim_count(void) { return seen; }
const char *shim_name(void) { return hit_name; }

static void die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static int below(const char *path)
{
    size_t length = strlen(under);
    return length && !strncmp(path, under, length) && (path[length] == '/' || !path[length]);
}

static int fd_below(int fd)
{
    char link[64], path[PATH_MAX];
    if (!under[0])
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return below(path);
}

static int name_below(int dir, const char *path)
{
    return path[0] == '/' ? below(path) : dir == AT_FDCWD ? 0 : fd_below(dir);
}

/* Decides before a call; 0 = go on, else what to do. */
static int meet(const char *name, int inside)
{
    if (!inside || atomic_fetch_add(&seen, 1) + 1 != target)
        return 0;
    hit_name = name;
    if (action == KILL_BEFORE)
        die();
    if (action == FAIL)
        errno = error_code;
    return action;
}

#define REAL(type, name, parameters) \
    static type (*real) parameters; \
    if (!real) \
        real = (type (*) parameters)dlsym(RTLD_NEXT, #name)

#define WRAP(name, inside, parameters, arguments) \
    int name parameters \
    { \
        REAL(int, name, parameters); \
        int met = meet(#name, inside); \
        if (met == FAIL) \
            return -1; \
        int result = real arguments; \
        if (met == KILL_AFTER) \
            die(); \
        return result; \
    }

WRAP(fsync, fd_below(fd), (int fd), (fd))
WRAP(fdatasync, fd_below(fd), (int fd), (fd))
WRAP(fchmod, fd_below(fd), (int fd, mode_t mode), (fd, mode))
WRAP(ftruncate, fd_below(fd), (int fd, off_t length), (fd, length))
WRAP(ftruncate64, fd_below(fd), (int fd, off64_t length), (fd, length))
WRAP(rename, name_below(AT_FDCWD, to), (const char *from, const char *to), (from, to))
WRAP(renameat, name_below(b, to), (int a, const char *from, int b, const char *to), (a, from, b, to))
WRAP(renameat2, name_below(b, to), (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
WRAP(link, name_below(AT_FDCWD, to), (const char *from, const char *to), (from, to))
WRAP(linkat, name_below(b, to), (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
WRAP(unlink, name_below(AT_FDCWD, path), (const char *path), (path))
WRAP(unlinkat, name_below(dir, path), (int dir, const char *path, int flags), (dir, path, flags))
WRAP(rmdir, name_below(AT_FDCWD, path), (const char *path), (path))
WRAP(mkdir, name_below(AT_FDCWD, path), (const char *path, mode_t mode), (path, mode))
WRAP(mkdirat, name_below(dir, path), (int dir, const char *path, mode_t mode), (dir, path, mode))

#define WRAP_IO(name, parameters, arguments) \
    ssize_t name parameters \
    { \
        REAL(ssize_t, name, parameters); \
        int met = meet(#name, fd_below(fd)); \
        if (met == FAIL) \
            return -1; \
        if (met == SHORT && size > 1) \
            size /= 2; \
        ssize_t result = real arguments; \
        if (met == KILL_AFTER) \
            die(); \
        return result; \
    }

WRAP_IO(write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP_IO(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRAP_IO(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRAP_IO(pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
WRAP_IO(pread64, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at))

#define WRAP_OPEN(name, dir, parameters, ...) \
    int name parameters \
    { \
        static int (*real)(int, const char *, int, ...); \
        if (!real) \
            real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat64"); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | __O_TMPFILE)) { \
            va_list rest; \
            va_start(rest, flags); \
            mode = va_arg(rest, mode_t); \
            va_end(rest); \
        } \
        int met = meet("open", name_below(dir, path)); \
        if (met == FAIL) \
            return -1; \
        int result = real(dir, path, flags, mode); \
        if (met == KILL_AFTER) \
            die(); \
        return result; \
    }

WRAP_OPEN(open, AT_FDCWD, (const char *path, int flags, ...))
WRAP_OPEN(open64, AT_FDCWD, (const char *path, int flags, ...))
WRAP_OPEN(openat, dir, (int dir, const char *path, int flags, ...))
WRAP_OPEN(openat64, dir, (int dir, const char *path, int flags, ...))

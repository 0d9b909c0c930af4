/* Counts, records and sabotages the file calls a process makes below one directory.
 *
 * Preloaded (LD_PRELOAD) in front of libc, so that SQLite's own calls pass through it as well as
 * Python's. It does nothing until shim_arm() is called, which tests do in a forked child. What each
 * function means is said in shim.py, and so is the format of a trace.
 *
 * Real work is done by raw system calls, the *at() ones, which every 64-bit Linux has. One lock is
 * held through each call, so a trace has the order in which things happened.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* classes of calls; the same bits as in shim.py */
enum {
    OPEN = 1, CREATE = 2, WRITE = 4, SYNC = 8, RENAME = 16, UNLINK = 32, MKDIR = 64, RMDIR = 128,
    TRUNCATE = 256, ALLOCATE = 512, LINK = 1024, CHMOD = 2048, MAP = 4096, SHARE = 8192,
    READ = 16384, CLOSE = 32768
};
enum { NOTHING, KILL, KILL_AFTER, TORN, FAIL, SHORT };
enum { HALF = -1 };
#define SECTOR 512
#define FDS 65536
#define ROOM 4096
#define PAGE(n) (((n) + 4095) / 4096 * 4096)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int armed;
static char root[ROOM];
static size_t root_length;

static struct {
    int action, classes, error;
    long at, times;
    char only[256];
} fault;
static long counted, seen[32], hits, sequence;
static int classes_counted;
static int64_t quota = -1, used;
/* bytes that the disk cannot read, of files with this in their path */
static struct { int64_t low, high; char only[256]; } bad;
static int trace = -1;

/* what is known of each descriptor: 0 not looked at, 1 below the root, 2 elsewhere */
static unsigned char where[FDS];
static char *name_of[FDS];

#define FAILED_SYNCS 1024
static uint64_t failed[FAILED_SYNCS];
static int failures;
static long retried, retried_folders;
static char retried_path[ROOM];

struct call {
    const char *name;
    int class, fd, flags;
    int64_t offset, length;
    uint64_t inode;
    const char *path, *path2;
    const void *data;
    size_t data_length;
    int64_t number;
};

struct entry {
    char magic[4], name[12];
    uint64_t sequence;
    int64_t number, result, offset, length;
    uint64_t inode;
    int32_t fd, flags;
    uint32_t path_length, path2_length;
    uint64_t data_length;
} __attribute__((packed));

/* ---- which file ---------------------------------------------------------------------------- */

static int below(const char *path) {
    return strncmp(path, root, root_length) == 0 &&
           (path[root_length] == '/' || path[root_length] == 0);
}

static const char *relative(const char *path) {
    if (!below(path)) return path;
    path += root_length;
    return *path == '/' ? path + 1 : path;
}

static int link_of(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, out, ROOM - 1);
    out[n < 0 ? 0 : n] = 0;
    return n > 0;
}

/* The path of a descriptor below the root, or NULL. */
static const char *ours(int fd) {
    if (fd < 0 || fd >= FDS) return NULL;
    if (!where[fd]) {
        char path[ROOM];
        where[fd] = 2;
        if (link_of(fd, path) && below(path)) {
            where[fd] = 1;
            free(name_of[fd]);
            name_of[fd] = strdup(path);
        }
    }
    return where[fd] == 1 ? name_of[fd] : NULL;
}

static void forget(int fd) {
    if (fd >= 0 && fd < FDS) where[fd] = 0;
}

/* The absolute path in `out`; 1 when it lies below the root. */
static int resolved(int directory, const char *path, char *out) {
    if (!path) return 0;
    if (path[0] == '/') {
        snprintf(out, ROOM, "%s", path);
    } else {
        char base[ROOM];
        if (directory == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else if (!link_of(directory, base)) {
            return 0;
        }
        if (snprintf(out, ROOM, "%s/%s", base, path) >= ROOM) return 0;
    }
    return below(out);
}

static uint64_t inode_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static int64_t size_of(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_size;
}

/* Bytes that vanish from the disk with this name; its inode goes to `inode`. */
static int64_t freed_by(const char *path, uint64_t *inode) {
    struct stat found;
    if (fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW)) return 0;
    if (inode) *inode = found.st_ino;
    return S_ISREG(found.st_mode) && found.st_nlink == 1 ? PAGE(found.st_size) : 0;
}

/* ---- the gate ------------------------------------------------------------------------------ */

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

static int note_sync(const struct call *c, int before, long result) {
    for (int i = 0; i < failures; i++)
        if (failed[i] == c->inode) {
            struct stat found;
            if (before && !fstat(c->fd, &found) && S_ISDIR(found.st_mode)) {
                retried_folders++;
            } else if (before) {
                retried++;
                snprintf(retried_path, sizeof retried_path, "%s", c->path);
            }
            return 1;
        }
    if (!before && result < 0 && result != -EINTR && failures < FAILED_SYNCS)
        failed[failures++] = c->inode;
    return 0;
}

/* Count a call under the lock. 0: go on; above 0: fail with this errno; HALF: do half of it. */
static int enter(struct call *c) {
    sequence++;
    for (int bit = 0; bit < 32; bit++)
        if (c->class >> bit & 1) seen[bit]++;
    if (c->class & classes_counted) c->number = ++counted;
    if (c->class == SYNC) note_sync(c, 1, 0);
    if (fault.action == NOTHING || !(c->class & fault.classes)) return 0;
    if (fault.only[0] && !strstr(c->path, fault.only)) return 0;
    hits++;
    if (hits < fault.at || (fault.times >= 0 && hits >= fault.at + fault.times)) return 0;
    switch (fault.action) {
    case KILL: die(); break;
    case FAIL: return fault.error;
    case TORN: if (c->class != WRITE) die(); return HALF;
    case SHORT: return c->class == WRITE ? HALF : 0;
    default: break;
    }
    return 0;
}

static int struck(const struct call *c, int action) {
    return fault.action == action && (c->class & fault.classes) && hits == fault.at &&
           !(fault.only[0] && !strstr(c->path, fault.only));
}

static void write_trace(const struct call *c, int64_t result) {
    const char *path = c->path ? relative(c->path) : "", *path2 = c->path2 ? relative(c->path2) : "";
    struct entry e = {.sequence = sequence, .number = c->number, .result = result,
        .offset = c->offset, .length = c->length, .inode = c->inode, .fd = c->fd,
        .flags = c->flags, .path_length = strlen(path), .path2_length = strlen(path2),
        .data_length = c->data_length};
    memcpy(e.magic, "CALL", 4);
    memcpy(e.name, c->name, strnlen(c->name, sizeof e.name));
    struct iovec parts[4] = {{&e, sizeof e}, {(void *)path, e.path_length},
        {(void *)path2, e.path2_length}, {(void *)c->data, c->data_length}};
    size_t all = sizeof e + e.path_length + e.path2_length + c->data_length;
    if ((size_t)syscall(SYS_writev, trace, parts, 4) != all) {
        static const char sorry[] = "shim: cannot write the trace\n";
        syscall(SYS_write, 2, sorry, sizeof sorry - 1);
        abort();
    }
}

/* After the call; `result` is what it returned, or minus errno. Gives up the lock. */
static long leave(struct call *c, long result) {
    if (c->class == SYNC) note_sync(c, 0, result);
    if (trace >= 0) {
        if (c->class == WRITE) c->data_length = result > 0 ? (size_t)result : 0;
        write_trace(c, result);
    }
    if (struck(c, KILL_AFTER) || (c->class == WRITE && struck(c, TORN))) die();
    pthread_mutex_unlock(&lock);
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static long raw(long result) { return result == -1 ? -errno : result; }

/* Room for a file to grow to `size`; what fits is charged. Returns the size it may have. */
static int64_t charge(int fd, int64_t size) {
    int64_t present = PAGE(size_of(fd));
    if (quota < 0 || PAGE(size) <= present) return size;
    int64_t room = (quota - used) / 4096 * 4096;
    if (room < 0) room = 0;
    int64_t allowed = PAGE(size) - present <= room ? size : present + room;
    used += PAGE(allowed) - present;
    return allowed;
}

/* ---- control ------------------------------------------------------------------------------- */

void shim_arm(const char *directory, int classes) {
    pthread_mutex_lock(&lock);
    snprintf(root, sizeof root, "%s", directory);
    root_length = strlen(root);
    memset(where, 0, sizeof where);
    memset(seen, 0, sizeof seen);
    memset(&fault, 0, sizeof fault);
    memset(&bad, 0, sizeof bad);
    counted = hits = sequence = retried = retried_folders = 0;
    failures = 0;
    quota = -1;
    classes_counted = classes;
    armed = 1;
    pthread_mutex_unlock(&lock);
}

void shim_disarm(void) { armed = 0; }

void shim_fault(int action, int classes, long at, long times, int error, const char *only) {
    pthread_mutex_lock(&lock);
    fault.action = action;
    fault.classes = classes;
    fault.at = at;
    fault.times = times;
    fault.error = error;
    snprintf(fault.only, sizeof fault.only, "%s", only);
    hits = 0;
    pthread_mutex_unlock(&lock);
}

void shim_bad(const char *only, int64_t low, int64_t high) {
    pthread_mutex_lock(&lock);
    bad.low = low;
    bad.high = high;
    snprintf(bad.only, sizeof bad.only, "%s", only);
    pthread_mutex_unlock(&lock);
}

void shim_quota(int64_t bytes, int64_t present) {
    pthread_mutex_lock(&lock);
    quota = bytes;
    if (present >= 0) used = present;
    pthread_mutex_unlock(&lock);
}

int64_t shim_used(void) { return used; }

void shim_record(int fd) { trace = fd; }

void shim_mark(const char *text, size_t length) {
    struct call c = {.name = "mark", .fd = -1, .data = text, .data_length = length};
    pthread_mutex_lock(&lock);
    sequence++;
    if (trace >= 0) write_trace(&c, 0);
    pthread_mutex_unlock(&lock);
}

long shim_count(void) { return counted; }
long shim_seen(int class) {
    long sum = 0;
    for (int bit = 0; bit < 32; bit++)
        if (class >> bit & 1) sum += seen[bit];
    return sum;
}
long shim_hits(void) { return hits; }
long shim_retried(void) { return retried; }
long shim_retried_folders(void) { return retried_folders; }
const char *shim_retried_path(void) { return relative(retried_path); }
void shim_reopened(void) { failures = 0; }

/* ---- opening and closing ------------------------------------------------------------------- */

static int open_any(int directory, const char *path, int flags, mode_t mode) {
    char full[ROOM];
    if (!armed || !resolved(directory, path, full))
        return (int)syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&lock);
    uint64_t inode = 0;
    int64_t freed = freed_by(full, &inode);
    int creates = (flags & O_CREAT) && !inode;
    struct call c = {.name = creates ? "create" : "open", .fd = -1, .flags = flags, .path = full,
        .length = mode, .class = creates ? CREATE : OPEN};
    if (!creates && (flags & O_TRUNC)) c.class = TRUNCATE;
    int error = enter(&c);
    long result = error > 0 ? -error : raw(syscall(SYS_openat, directory, path, flags, mode));
    if (result >= 0) {
        c.fd = (int)result;
        c.inode = inode_of(c.fd);
        forget(c.fd);
        if (!creates && (flags & O_TRUNC)) used -= freed;
    }
    return (int)leave(&c, result);
}

#define MODE(flags)                                                                              \
    mode_t mode = 0;                                                                             \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                       \
        va_list more;                                                                            \
        va_start(more, flags);                                                                   \
        mode = va_arg(more, mode_t);                                                             \
        va_end(more);                                                                            \
    }

int open(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_any(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_any(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_any(at, path, flags, mode); }
int creat(const char *path, mode_t mode) { return open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
    const char *path = armed ? ours(fd) : NULL;
    if (!path) {
        forget(fd);
        return (int)syscall(SYS_close, fd);
    }
    pthread_mutex_lock(&lock);
    struct call c = {.name = "close", .class = CLOSE, .fd = fd, .path = path, .inode = inode_of(fd)};
    int error = enter(&c);
    long result = raw(syscall(SYS_close, fd)); /* a close that fails has closed, on Linux */
    if (error > 0) result = -error;
    forget(fd);
    return (int)leave(&c, result);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Bytes of a write that is torn in the middle: it ends where a sector does, for neither a kill nor a
 * power cut divides one. Nothing of a write that lies in one sector. */
static size_t torn(int64_t at, size_t n) {
    int64_t middle = (at + (int64_t)(n / 2)) / SECTOR * SECTOR;
    if (middle <= at) middle += SECTOR;
    return middle - at < (int64_t)n ? (size_t)(middle - at) : 0;
}

static ssize_t write_any(const char *name, int fd, const void *data, size_t n, int64_t offset) {
    const char *path = armed ? ours(fd) : NULL;
    if (!path)
        return offset < 0 ? syscall(SYS_write, fd, data, n)
                          : syscall(SYS_pwrite64, fd, data, n, offset);
    pthread_mutex_lock(&lock);
    int64_t at = offset;
    int flags = fcntl(fd, F_GETFL);
    if (offset < 0) at = flags & O_APPEND ? size_of(fd) : lseek(fd, 0, SEEK_CUR);
    struct call c = {.name = name, .class = WRITE, .fd = fd, .path = path, .offset = at,
        .length = (int64_t)n, .inode = inode_of(fd), .data = data, .flags = flags};
    int error = enter(&c);
    long result;
    if (error > 0) {
        result = -error;
    } else {
        size_t allowed = n;
        if (error == HALF) allowed = fault.action == SHORT ? (n < 2 ? n : n / 2) : torn(at, n);
        int64_t end = charge(fd, at + (int64_t)allowed);
        allowed = end > at ? (size_t)(end - at) : 0;
        if (allowed == 0 && n && error != HALF) result = -ENOSPC;
        else result = raw(offset < 0 ? syscall(SYS_write, fd, data, allowed)
                                     : syscall(SYS_pwrite64, fd, data, allowed, offset));
    }
    return leave(&c, result);
}

ssize_t write(int fd, const void *data, size_t n) { return write_any("write", fd, data, n, -1); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return write_any("pwrite", fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { return write_any("pwrite", fd, data, n, at); }

static ssize_t gather(const char *name, int fd, const struct iovec *parts, int n, int64_t offset) {
    size_t all = 0, done = 0;
    for (int i = 0; i < n; i++) all += parts[i].iov_len;
    char *joined = malloc(all ? all : 1);
    if (!joined) {
        errno = ENOMEM;
        return -1;
    }
    for (int i = 0; i < n; done += parts[i++].iov_len)
        memcpy(joined + done, parts[i].iov_base, parts[i].iov_len);
    ssize_t result = write_any(name, fd, joined, all, offset);
    int error = errno;
    free(joined);
    errno = error;
    return result;
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    return armed && ours(fd) ? gather("writev", fd, parts, n, -1) : syscall(SYS_writev, fd, parts, n);
}
ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at) { return gather("pwritev", fd, parts, n, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t at) { return gather("pwritev", fd, parts, n, at); }
ssize_t pwritev2(int fd, const struct iovec *parts, int n, off_t at, int flags) {
    (void)flags;
    return gather("pwritev", fd, parts, n, at);
}
ssize_t pwritev64v2(int fd, const struct iovec *parts, int n, off64_t at, int flags) {
    return pwritev2(fd, parts, n, at, flags);
}

/* Copies inside the kernel become a read and a write, so that a trace has the bytes. */
static ssize_t copy(int in, off64_t *from, int out, off64_t *to, size_t n) {
    if (n > 1 << 20) n = 1 << 20;
    char *buffer = malloc(n ? n : 1);
    if (!buffer) {
        errno = ENOMEM;
        return -1;
    }
    int64_t start = from ? *from : lseek(in, 0, SEEK_CUR);
    ssize_t got = syscall(SYS_pread64, in, buffer, n, start), put = got;
    if (got > 0) put = write_any("copy", out, buffer, (size_t)got, to ? *to : -1);
    int error = errno;
    free(buffer);
    if (put > 0) {
        if (from) *from += put;
        else lseek(in, start + put, SEEK_SET);
        if (to) *to += put;
    }
    errno = error;
    return put;
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags) {
    if (armed && ours(out)) return copy(in, from, out, to, n);
    return syscall(SYS_copy_file_range, in, from, out, to, n, flags);
}
ssize_t sendfile(int out, int in, off_t *from, size_t n) {
    if (armed && ours(out)) return copy(in, from, out, NULL, n);
    return syscall(SYS_sendfile, out, in, from, n);
}
ssize_t sendfile64(int out, int in, off64_t *from, size_t n) { return sendfile(out, in, from, n); }

/* ---- syncing, sizing, reading, mapping ----------------------------------------------------- */

/* `what` on a descriptor below the root, else just `what`. */
#define ON_FILE(the_name, the_class, at, size, the_flags, what)                                  \
    const char *path = armed ? ours(fd) : NULL;                                                  \
    if (!path) return what;                                                                      \
    pthread_mutex_lock(&lock);                                                                   \
    struct call c = {.name = the_name, .class = the_class, .fd = fd, .path = path, .offset = at, \
        .length = size, .flags = the_flags, .inode = inode_of(fd)};                              \
    int error = enter(&c);                                                                       \
    return leave(&c, error > 0 ? -error : raw(what));

int fsync(int fd) { ON_FILE("fsync", SYNC, 0, 0, 0, syscall(SYS_fsync, fd)) }
int fdatasync(int fd) { ON_FILE("fdatasync", SYNC, 0, 0, 0, syscall(SYS_fdatasync, fd)) }
int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) {
    ON_FILE("sync_range", SYNC, at, n, (int)flags, syscall(SYS_sync_file_range, fd, at, n, flags))
}
int fchmod(int fd, mode_t mode) { ON_FILE("fchmod", CHMOD, 0, mode, 0, syscall(SYS_fchmod, fd, mode)) }
ssize_t read(int fd, void *out, size_t n) { ON_FILE("read", READ, -1, (int64_t)n, 0, syscall(SYS_read, fd, out, n)) }

/* As a disk with a bad stretch: up to it, or EIO within it. */
static long read_around(const char *path, int fd, void *out, size_t n, int64_t at) {
    if (bad.high > bad.low && at < bad.high && at + (int64_t)n > bad.low && strstr(path, bad.only)) {
        if (at >= bad.low) {
            errno = EIO;
            return -1;
        }
        n = (size_t)(bad.low - at);
    }
    return syscall(SYS_pread64, fd, out, n, at);
}

ssize_t pread(int fd, void *out, size_t n, off_t at) {
    ON_FILE("pread", READ, at, (int64_t)n, 0, read_around(path, fd, out, n, at))
}
ssize_t pread64(int fd, void *out, size_t n, off64_t at) { return pread(fd, out, n, at); }

static long resize(int fd, off64_t size) {
    int64_t present = size_of(fd);
    /* a longer file is only sparser; its room is found, or not, when it is written */
    if (size > present && quota >= 0) used += PAGE(size) - PAGE(present);
    if (size < present && quota >= 0) used -= PAGE(present) - PAGE(size);
    return syscall(SYS_ftruncate, fd, size);
}
int ftruncate(int fd, off_t size) { ON_FILE("ftruncate", TRUNCATE, 0, size, 0, resize(fd, size)) }
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static long allocate(int fd, int mode, off64_t at, off64_t n) {
    if (!armed || !ours(fd)) return syscall(SYS_fallocate, fd, mode, at, n);
    if (!(mode & FALLOC_FL_KEEP_SIZE) && at + n > size_of(fd) && quota >= 0) {
        int64_t before = used;
        if (charge(fd, at + n) < at + n) {
            used = before;
            errno = ENOSPC;
            return -1;
        }
    }
    return syscall(SYS_fallocate, fd, mode, at, n);
}
int fallocate(int fd, int mode, off_t at, off_t n) {
    ON_FILE("fallocate", ALLOCATE, at, n, mode, allocate(fd, mode, at, n))
}
int fallocate64(int fd, int mode, off64_t at, off64_t n) { return fallocate(fd, mode, at, n); }
int posix_fallocate(int fd, off_t at, off_t n) {
    int before = errno, result = fallocate(fd, 0, at, n) ? errno : 0;
    errno = before;
    return result;
}
int posix_fallocate64(int fd, off64_t at, off64_t n) { return posix_fallocate(fd, at, n); }

void *mmap(void *address, size_t n, int protection, int flags, int fd, off_t at) {
    const char *path = armed && fd >= 0 ? ours(fd) : NULL;
    if (!path) return (void *)syscall(SYS_mmap, address, n, protection, flags, fd, at);
    int shares = (protection & PROT_WRITE) && (flags & MAP_TYPE) != MAP_PRIVATE;
    pthread_mutex_lock(&lock);
    struct call c = {.name = shares ? "share" : "map", .class = shares ? SHARE : MAP, .fd = fd,
        .path = path, .offset = at, .length = (int64_t)n, .flags = flags, .inode = inode_of(fd)};
    int error = enter(&c);
    void *found = error > 0 ? MAP_FAILED
                            : (void *)syscall(SYS_mmap, address, n, protection, flags, fd, at);
    long result = error > 0 ? -error : found == MAP_FAILED ? -errno : 0;
    return leave(&c, result) < 0 ? MAP_FAILED : found;
}
void *mmap64(void *address, size_t n, int protection, int flags, int fd, off64_t at) {
    return mmap(address, n, protection, flags, fd, at);
}

/* ---- names --------------------------------------------------------------------------------- */

static int rename_any(int from_at, const char *from, int to_at, const char *to, unsigned flags) {
    char a[ROOM], b[ROOM];
    int ours_a = armed && resolved(from_at, from, a), ours_b = armed && resolved(to_at, to, b);
    if (!ours_a && !ours_b) return (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    pthread_mutex_lock(&lock);
    struct call c = {.name = "rename", .class = RENAME, .fd = -1, .path = a, .path2 = b,
        .flags = (int)flags};
    int64_t freed = freed_by(b, NULL);
    freed_by(a, &c.inode);
    int error = enter(&c);
    long result = error > 0 ? -error
                            : raw(syscall(SYS_renameat2, from_at, from, to_at, to, flags));
    if (result >= 0) used -= freed;
    for (int fd = 0; result >= 0 && fd < FDS; fd++) forget(fd);
    return (int)leave(&c, result);
}
int rename(const char *from, const char *to) { return rename_any(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return rename_any(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return rename_any(a, from, b, to, flags); }

/* `what` on a path below the root, else just `what`. */
#define ON_NAME(the_name, the_class, at, which, mode, other, frees, what)                        \
    char full[ROOM];                                                                             \
    if (!armed || !resolved(at, which, full)) return (int)(what);                                \
    pthread_mutex_lock(&lock);                                                                   \
    struct call c = {.name = the_name, .class = the_class, .fd = -1, .path = full,               \
        .path2 = other, .length = mode};                                                         \
    int64_t freed = freed_by(full, &c.inode);                                                    \
    int error = enter(&c);                                                                       \
    long result = error > 0 ? -error : raw(what);                                                \
    if ((frees) && result >= 0) used -= freed;                                                   \
    return (int)leave(&c, result);

int unlinkat(int at, const char *path, int flags) {
    int folder = flags & AT_REMOVEDIR;
    ON_NAME(folder ? "rmdir" : "unlink", folder ? RMDIR : UNLINK, at, path, 0, NULL, !folder,
            syscall(SYS_unlinkat, at, path, flags))
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int at, const char *path, mode_t mode) {
    ON_NAME("mkdir", MKDIR, at, path, mode, NULL, 0, syscall(SYS_mkdirat, at, path, mode))
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int linkat(int from_at, const char *from, int at, const char *path, int flags) {
    ON_NAME("link", LINK, at, path, 0, from, 0, syscall(SYS_linkat, from_at, from, at, path, flags))
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlinkat(const char *target, int at, const char *path) {
    ON_NAME("symlink", LINK, at, path, 0, target, 0, syscall(SYS_symlinkat, target, at, path))
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }
int fchmodat(int at, const char *path, mode_t mode, int flags) {
    (void)flags;
    ON_NAME("chmod", CHMOD, at, path, mode, NULL, 0, syscall(SYS_fchmodat, at, path, mode))
}
int chmod(const char *path, mode_t mode) { return fchmodat(AT_FDCWD, path, mode, 0); }
int truncate(const char *path, off_t size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    int result = ftruncate(fd, size), error = errno;
    close(fd);
    errno = error;
    return result;
}
int truncate64(const char *path, off64_t size) { return truncate(path, size); }

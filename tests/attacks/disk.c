/* A library for LD_PRELOAD that sees every call by which a process changes the disk: it counts them, disturbs one of
 * them, and records them so that power cuts can be replayed.
 *
 *   DISK_LOG=FILE      a line for every call: its number, its name, its path
 *   DISK_RECORD=FILE   every call with its data, in the order in which they took effect (see power.py)
 *   DISK_AT=N          disturb the N-th call
 *   DISK_CALL=NAME:END disturb the first call of this name whose path ends so
 *   DISK_SKIP=N        not the first, but the one after N such calls
 *   DISK_HOW=          kill  end the process before the call
 *                      torn  end it in the middle of a write
 *                      stop  stop it before the call, until SIGCONT
 *                      fail  let the call fail
 *                      full  let this and every later call fail
 *   DISK_ERRNO=N       with which error (28, no space, unless given)
 *
 * Build: gcc -shared -fPIC -O1 -o disk.so disk.c -ldl -lpthread
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Calls are counted and recorded one at a time, so that the record is in the order in which they took effect. */
static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static long count, at = -1, skip;
static int log_fd = -1, record_fd = -1, error = ENOSPC;
static const char *how = "", *call = 0;

static int own_file(const char *name) {
  const char *path = getenv(name);
  return path ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
}

__attribute__((constructor)) static void begin(void) {
  log_fd = own_file("DISK_LOG");
  record_fd = own_file("DISK_RECORD");
  if (getenv("DISK_AT")) at = atol(getenv("DISK_AT"));
  if (getenv("DISK_HOW")) how = getenv("DISK_HOW");
  if (getenv("DISK_ERRNO")) error = atoi(getenv("DISK_ERRNO"));
  if (getenv("DISK_SKIP")) skip = atol(getenv("DISK_SKIP"));
  call = getenv("DISK_CALL");
}

static void end_process(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static int is(const char *what) { return strcmp(how, what) == 0; }

static const char *path_of(int fd, char *buffer) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = syscall(SYS_readlink, link, buffer, 4095);
  buffer[n < 0 ? 0 : n] = 0;
  return buffer;
}

/* The absolute path of a path relative to a folder. */
static const char *whole(int folder, const char *path, char *buffer) {
  if (path[0] == '/') return path;
  char base[4096];
  if (folder == AT_FDCWD) {
    if (!getcwd(base, sizeof base)) base[0] = 0;
  } else {
    path_of(folder, base);
  }
  if (snprintf(buffer, 4096, "%s/%s", base, path) >= 4096) buffer[0] = 0;
  return buffer;
}

/* Whether the call of this name is the one to disturb; ends or stops the process if that is how. */
static int disturbs(const char *name, const char *path) {
  long number = ++count;
  if (log_fd >= 0) {
    char line[4400];
    int n = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path);
    syscall(SYS_write, log_fd, line, n);
  }
  if (call) {
    size_t length = strlen(name), have = strlen(path);
    if (!strncmp(call, name, length) && call[length] == ':') {
      const char *end = call + length + 1;
      if (have >= strlen(end) && !strcmp(path + have - strlen(end), end) && skip-- <= 0) {
        at = number;
        call = 0;
      }
    }
  }
  if (at > 0 && number > at && is("full")) return 1;
  if (number != at) return 0;
  if (is("stop")) {
    pthread_mutex_unlock(&turn);
    syscall(SYS_kill, getpid(), SIGSTOP);
    pthread_mutex_lock(&turn);
    return 0;
  }
  if (is("kill")) end_process();
  return 1;
}

static void record(const char *name, const char *path, const char *other, long number, const void *data, size_t size) {
  if (record_fd < 0) return;
  char head[9000];
  int n = snprintf(head, sizeof head, "%s\t%s\t%s\t%ld\t%zu\n", name, path, other, number, size);
  struct iovec parts[2] = {{head, n}, {(void *)data, size}};
  syscall(SYS_writev, record_fd, parts, 2);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAILS(hit) ((hit) && (is("fail") || is("full")))
#define ENTER char buffer[4096], second[4096]; (void)buffer; (void)second; pthread_mutex_lock(&turn)
#define LEAVE(result) do { __typeof__(result) answer = (result); pthread_mutex_unlock(&turn); return answer; } while (0)
#define REFUSE do { pthread_mutex_unlock(&turn); errno = error; return -1; } while (0)

static int ours(int fd) { return fd == log_fd || fd == record_fd; }

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  if (ours(fd)) return real(fd, data, size);
  ENTER;
  const char *path = path_of(fd, buffer);
  int hit = disturbs("write", path);
  if (FAILS(hit)) REFUSE;
  if (hit && is("torn")) { real(fd, data, size / 2); end_process(); }
  long offset = lseek(fd, 0, SEEK_CUR);
  ssize_t n = real(fd, data, size);
  if (n > 0) record(fd == 1 ? "said" : "write", path, "", offset, data, n);
  LEAVE(n);
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
  /* One part at a time: fewer are written than asked for, which callers must bear. */
  return number > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  REAL(pwrite64);
  ENTER;
  const char *path = path_of(fd, buffer);
  int hit = disturbs("pwrite", path);
  if (FAILS(hit)) REFUSE;
  if (hit && is("torn")) { real(fd, data, size / 2, offset); end_process(); }
  ssize_t n = real(fd, data, size, offset);
  if (n > 0) record("write", path, "", offset, data, n);
  LEAVE(n);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return pwrite64(fd, data, size, offset); }

int ftruncate64(int fd, off64_t length) {
  REAL(ftruncate64);
  ENTER;
  const char *path = path_of(fd, buffer);
  if (FAILS(disturbs("ftruncate", path))) REFUSE;
  int r = real(fd, length);
  if (r == 0) record("truncate", path, "", length, 0, 0);
  LEAVE(r);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

#define SYNC(name)                                                                                                    \
  int name(int fd) {                                                                                                  \
    REAL(name);                                                                                                       \
    ENTER;                                                                                                            \
    const char *path = path_of(fd, buffer);                                                                           \
    if (FAILS(disturbs(#name, path))) REFUSE;                                                                         \
    int r = real(fd);                                                                                                 \
    if (r == 0) record("sync", path, "", 0, 0, 0);                                                                    \
    LEAVE(r);                                                                                                         \
  }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char *from, const char *to) {
  REAL(rename);
  ENTER;
  const char *a = whole(AT_FDCWD, from, buffer), *b = whole(AT_FDCWD, to, second);
  if (FAILS(disturbs("rename", b))) REFUSE;
  int r = real(from, to);
  if (r == 0) record("rename", a, b, 0, 0, 0);
  LEAVE(r);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  REAL(renameat2);
  ENTER;
  const char *a = whole(from_folder, from, buffer), *b = whole(to_folder, to, second);
  if (getenv("DISK_NO_EXCHANGE") && flags) { pthread_mutex_unlock(&turn); errno = EINVAL; return -1; }
  if (FAILS(disturbs("rename", b))) REFUSE;
  int r = real(from_folder, from, to_folder, to, flags);
  if (r == 0) record(flags & 2 ? "exchange" : "rename", a, b, 0, 0, 0);
  LEAVE(r);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  REAL(linkat);
  ENTER;
  const char *a = whole(from_folder, from, buffer), *b = whole(to_folder, to, second);
  if (FAILS(disturbs("link", b))) REFUSE;
  int r = real(from_folder, from, to_folder, to, flags);
  if (r == 0) record("link", a, b, 0, 0, 0);
  LEAVE(r);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *name, int flags) {
  REAL(unlinkat);
  ENTER;
  const char *path = whole(folder, name, buffer);
  if (FAILS(disturbs("unlink", path))) REFUSE;
  int r = real(folder, name, flags);
  if (r == 0) record("unlink", path, "", 0, 0, 0);
  LEAVE(r);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *name, mode_t mode) {
  REAL(mkdir);
  ENTER;
  const char *path = whole(AT_FDCWD, name, buffer);
  if (FAILS(disturbs("mkdir", path))) REFUSE;
  int r = real(name, mode);
  if (r == 0) record("mkdir", path, "", 0, 0, 0);
  LEAVE(r);
}

static int opened(int (*real)(const char *, int, ...), const char *name, int flags, mode_t mode) {
  if (!(flags & (O_CREAT | O_TRUNC))) return real(name, flags, mode);
  ENTER;
  const char *path = whole(AT_FDCWD, name, buffer);
  if (FAILS(disturbs("open", path))) REFUSE;
  int fd = real(name, flags, mode);
  struct stat now;
  if (fd >= 0 && fstat(fd, &now) == 0 && S_ISREG(now.st_mode)) {
    record(flags & O_TRUNC ? "empty" : "create", path, "", now.st_mode & 0777, 0, 0);
  }
  LEAVE(fd);
}

#define OPEN(name)                                                                                                    \
  int name(const char *path, int flags, ...) {                                                                        \
    REAL(name);                                                                                                       \
    va_list rest;                                                                                                     \
    va_start(rest, flags);                                                                                            \
    mode_t mode = va_arg(rest, mode_t);                                                                               \
    va_end(rest);                                                                                                     \
    return opened(real, path, flags, mode);                                                                           \
  }
OPEN(open)
OPEN(open64)

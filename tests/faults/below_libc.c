/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, descriptors, sockets, threads and processes: libc and libzmq. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zmq.h>

#include "below.h"

/* ---------------------------------------------------------------- memory */

BELOW(void *, malloc, ENOMEM, NULL, (size_t n), (n))
BELOW(void *, calloc, ENOMEM, NULL, (size_t n, size_t size), (n, size))
BELOW(void *, realloc, ENOMEM, NULL, (void *p, size_t n), (p, n))
BELOW(void *, reallocarray, ENOMEM, NULL, (void *p, size_t n, size_t size), (p, n, size))
BELOW(void *, aligned_alloc, ENOMEM, NULL, (size_t align, size_t n), (align, n))
BELOW(int, posix_memalign, ENOMEM, ENOMEM, (void **ret, size_t align, size_t n), (ret, align, n))
BELOW(void *, mmap, ENOMEM, MAP_FAILED,
      (void *at, size_t n, int prot, int flags, int fd, off_t offset),
      (at, n, prot, flags, fd, offset))
BELOW(void *, mmap64, ENOMEM, MAP_FAILED,
      (void *at, size_t n, int prot, int flags, int fd, off64_t offset),
      (at, n, prot, flags, fd, offset))
BELOW(int, mprotect, ENOMEM, -1, (void *at, size_t n, int prot), (at, n, prot))
BELOW(int, memfd_create, EMFILE, -1, (const char *name, unsigned flags), (name, flags))
BELOW(int, ftruncate, ENOSPC, -1, (int fd, off_t n), (fd, n))
BELOW(int, ftruncate64, ENOSPC, -1, (int fd, off64_t n), (fd, n))

/* ---------------------------------------------------------------- files */

#define WITH_MODE(name, params, flags, ...)                                  \
    __attribute__((visibility("default"))) int name params                   \
    {                                                                        \
        va_list more;                                                        \
        mode_t mode;                                                         \
                                                                             \
        BELOW_REAL(name);                                                    \
        va_start(more, flags);                                               \
        mode = (flags) & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more);                                                        \
        return below_fails(#name, EMFILE) ? -1 : real(__VA_ARGS__, mode);    \
    }
WITH_MODE(open, (const char *path, int flags, ...), flags, path, flags)
WITH_MODE(open64, (const char *path, int flags, ...), flags, path, flags)
WITH_MODE(openat, (int folder, const char *path, int flags, ...), flags, folder, path, flags)
WITH_MODE(openat64, (int folder, const char *path, int flags, ...), flags, folder, path, flags)
BELOW(FILE *, fopen, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
BELOW(FILE *, fopen64, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
BELOW(FILE *, fdopen, ENOMEM, NULL, (int fd, const char *mode), (fd, mode))
BELOW(DIR *, opendir, EMFILE, NULL, (const char *path), (path))
BELOW(char *, realpath, ENOMEM, NULL, (const char *path, char *ret), (path, ret))

/* ---------------------------------------------------------------- sockets, events */

BELOW(int, socket, EMFILE, -1, (int domain, int type, int protocol), (domain, type, protocol))
BELOW(int, socketpair, EMFILE, -1, (int domain, int type, int protocol, int fds[2]),
      (domain, type, protocol, fds))
BELOW(int, bind, EADDRINUSE, -1, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
BELOW(int, listen, EADDRINUSE, -1, (int fd, int backlog), (fd, backlog))
BELOW(int, accept, EMFILE, -1, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
BELOW(int, accept4, EMFILE, -1, (int fd, struct sockaddr *a, socklen_t *n, int flags),
      (fd, a, n, flags))
BELOW(int, connect, ECONNREFUSED, -1, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
BELOW(int, pipe, EMFILE, -1, (int fds[2]), (fds))
BELOW(int, pipe2, EMFILE, -1, (int fds[2], int flags), (fds, flags))
BELOW(int, eventfd, EMFILE, -1, (unsigned n, int flags), (n, flags))
BELOW(int, epoll_create, EMFILE, -1, (int n), (n))
BELOW(int, epoll_create1, EMFILE, -1, (int flags), (flags))
BELOW(int, epoll_ctl, ENOSPC, -1, (int epoll, int op, int fd, struct epoll_event *e),
      (epoll, op, fd, e))
BELOW(int, signalfd, EMFILE, -1, (int fd, const sigset_t *set, int flags), (fd, set, flags))
BELOW(int, timerfd_create, EMFILE, -1, (int clock, int flags), (clock, flags))

/* ---------------------------------------------------------------- threads, processes */

BELOW(int, pthread_create, EAGAIN, EAGAIN,
      (pthread_t * ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
      (ret, attr, run, arg))
BELOW(int, posix_spawn, EAGAIN, EAGAIN,
      (pid_t * ret, const char *path, const posix_spawn_file_actions_t *actions,
       const posix_spawnattr_t *attr, char *const argv[], char *const env[]),
      (ret, path, actions, attr, argv, env))

/* ---------------------------------------------------------------- libzmq */

BELOW(void *, zmq_ctx_new, EMFILE, NULL, (void), ())
BELOW(int, zmq_ctx_set, EINVAL, -1, (void *context, int option, int value),
      (context, option, value))
BELOW(void *, zmq_socket, EMFILE, NULL, (void *context, int type), (context, type))
BELOW(int, zmq_setsockopt, EINVAL, -1, (void *s, int option, const void *value, size_t n),
      (s, option, value, n))
BELOW(int, zmq_bind, EADDRINUSE, -1, (void *s, const char *endpoint), (s, endpoint))
BELOW(int, zmq_connect, EMFILE, -1, (void *s, const char *endpoint), (s, endpoint))
BELOW(int, zmq_socket_monitor, EMFILE, -1, (void *s, const char *endpoint, int events),
      (s, endpoint, events))
BELOW(int, zmq_msg_init_size, ENOMEM, -1, (zmq_msg_t * m, size_t n), (m, n))

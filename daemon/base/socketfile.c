/* SPDX-License-Identifier: Apache-2.0 */
#include "base/socketfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATH_BYTES (sizeof(((struct sockaddr_un *)0)->sun_path) + 8)

struct socketfile {
    struct sockaddr_un address;
    char lock_path[PATH_BYTES];
    int lock_fd;
    dev_t device; /* of the file that was bound */
    ino_t inode;
};

static int failed(char *why, size_t bytes, int r, const char *what)
{
    snprintf(why, bytes, "%s: %s", what, strerror(-r));
    return r;
}

/* ---------------------------------------------------------------- the lock */

/* Whether the locked file is still the one at the path: another may have removed it in between. */
static int is_there(const struct socketfile *f)
{
    struct stat held, there;

    return fstat(f->lock_fd, &held) == 0 && stat(f->lock_path, &there) == 0 &&
           held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

static int take_lock(struct socketfile *f, char *why, size_t bytes)
{
    for (;;) {
        f->lock_fd =
            open(f->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (f->lock_fd < 0)
            return failed(why, bytes, -errno, "cannot make its lock file");
        if (flock(f->lock_fd, LOCK_EX | LOCK_NB) < 0) {
            int r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;

            snprintf(why, bytes,
                     r == -EADDRINUSE ? "another daemon listens there" : "cannot lock its file");
            close(f->lock_fd);
            f->lock_fd = -1;
            return r;
        }
        if (is_there(f))
            return 0;
        close(f->lock_fd);
    }
}

static void give_lock(struct socketfile *f)
{
    struct stat s;

    if (f->lock_fd < 0)
        return;
    if (fstat(f->lock_fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size == 0 && is_there(f))
        unlink(f->lock_path);
    close(f->lock_fd);
}

/* ---------------------------------------------------------------- the socket */

/* 0 when no process listens at the address, or -EADDRINUSE with the one that does. */
static int ask(const struct sockaddr_un *a, int type, char *why, size_t bytes)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;
    struct ucred who = {.pid = 0};
    socklen_t n = sizeof who;

    if (fd < 0)
        return failed(why, bytes, -errno, "cannot make a socket");
    r = connect(fd, (const struct sockaddr *)a, sizeof *a) < 0 ? -errno : 0;
    if (r == 0)
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n);
    close(fd);
    if (r == -ECONNREFUSED)
        return 0;
    if (who.pid)
        snprintf(why, bytes, "process %ld answers there", (long)who.pid);
    else
        snprintf(why, bytes, "another process listens there");
    return -EADDRINUSE;
}

/* Removes the socket of a daemon that is gone. */
static int remove_stale(const struct sockaddr_un *a, int type, char *why, size_t bytes)
{
    struct stat s;
    int r;

    if (lstat(a->sun_path, &s) < 0)
        return errno == ENOENT ? 0 : failed(why, bytes, -errno, "cannot look at the file");
    if (!S_ISSOCK(s.st_mode)) {
        snprintf(why, bytes, "there is a file that is no socket; it is left alone");
        return -EEXIST;
    }
    r = ask(a, type, why, bytes);
    if (r < 0)
        return r;
    return unlink(a->sun_path) < 0 ? failed(why, bytes, -errno, "cannot remove the old socket") : 0;
}

/* Binds and listens; notes which file it made. */
static int open_socket(struct socketfile *f, int type, int backlog, int *ret_fd)
{
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;
    struct stat s = {0};
    mode_t mask;

    if (fd < 0)
        return -errno;
    mask = umask(0117); /* mode 0660 */
    r = bind(fd, (const struct sockaddr *)&f->address, sizeof f->address) < 0 ? -errno : 0;
    umask(mask);
    if (r == 0 && (lstat(f->address.sun_path, &s) < 0 || listen(fd, backlog) < 0))
        r = -errno;
    if (r < 0) {
        close(fd);
        return r;
    }
    f->device = s.st_dev;
    f->inode = s.st_ino;
    *ret_fd = fd;
    return 0;
}

int socketfile_listen(const char *path, int type, int backlog, struct socketfile **ret_file,
                      int *ret_fd, char *why, size_t bytes)
{
    struct socketfile *f;
    int r;

    if (strlen(path) >= sizeof f->address.sun_path)
        return failed(why, bytes, -ENAMETOOLONG, "its path is too long for a socket");
    f = calloc(1, sizeof *f);
    if (!f)
        return failed(why, bytes, -ENOMEM, "no memory");
    f->lock_fd = -1;
    f->address.sun_family = AF_UNIX;
    memcpy(f->address.sun_path, path, strlen(path) + 1);
    snprintf(f->lock_path, sizeof f->lock_path, "%s.lock", path);
    r = take_lock(f, why, bytes);
    if (r == 0)
        r = remove_stale(&f->address, type, why, bytes);
    if (r == 0) {
        r = open_socket(f, type, backlog, ret_fd);
        if (r < 0)
            failed(why, bytes, r, "cannot listen");
    }
    if (r < 0) {
        socketfile_remove(f);
        return r;
    }
    *ret_file = f;
    return 0;
}

void socketfile_remove(struct socketfile *f)
{
    struct stat s;

    if (!f)
        return;
    if (f->inode && lstat(f->address.sun_path, &s) == 0 && s.st_dev == f->device &&
        s.st_ino == f->inode)
        unlink(f->address.sun_path);
    give_lock(f);
    free(f);
}

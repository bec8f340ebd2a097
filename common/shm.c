/* SPDX-License-Identifier: Apache-2.0 */
#include "shm.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control { /* room for one descriptor, aligned as the kernel wants it */
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

int shm_packet_send(int socket, const void *bytes, size_t n, int fd)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    union control c;

    if (fd >= 0) {
        memset(&c, 0, sizeof c);
        m.msg_control = &c;
        m.msg_controllen = sizeof c;
        c.head.cmsg_level = SOL_SOCKET;
        c.head.cmsg_type = SCM_RIGHTS;
        c.head.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
    }
    if (sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == EWOULDBLOCK || errno == ENOBUFS ? -EAGAIN : -errno;
}

/* The first descriptor of a packet, or -1.  There is room for one, so the kernel closed others. */
static int take_fd(struct msghdr *m)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len < CMSG_LEN(sizeof fd))
        return -1;
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

int shm_packet_receive(int socket, void *bytes, size_t room, int *ret_fd)
{
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    union control c;
    ssize_t n;
    int fd = -1;

    if (ret_fd) { /* without this room the kernel closes what comes */
        m.msg_control = &c;
        m.msg_controllen = sizeof c;
    }
    do {
        n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? -EAGAIN : -ECONNRESET;
    if (ret_fd)
        fd = take_fd(&m);
    if (n == 0 || m.msg_flags & MSG_TRUNC) {
        if (fd >= 0)
            close(fd);
        return n == 0 ? -ECONNRESET : -EMSGSIZE;
    }
    if (ret_fd)
        *ret_fd = fd;
    return (int)n;
}

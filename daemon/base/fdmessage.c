/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fdmessage.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control { /* aligned as the kernel wants it */
    struct cmsghdr head;
    char bytes[CMSG_SPACE(FDMESSAGE_FDS_MAX * sizeof(int))];
};

int fdmessage_send(int socket, const void *message, size_t bytes, const int *fds, uint32_t n_fds,
                   int flags)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = bytes};
    union control control;
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    if (n_fds) {
        memset(&control, 0, sizeof control);
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
    }
    while (sendmsg(socket, &m, MSG_NOSIGNAL | flags) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

/* Takes the descriptors that came; those that are too many are closed. */
static void take_fds(struct msghdr *m, int *fds, uint32_t n_fds)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(m);
    size_t n = 0;

    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        if (i < n_fds)
            fds[i] = fd;
        else
            close(fd);
    }
}

int fdmessage_receive(int socket, void *message, size_t bytes, int *fds, uint32_t n_fds)
{
    struct iovec part = {.iov_base = message, .iov_len = bytes};
    union control control;
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t n;

    for (uint32_t i = 0; i < n_fds; i++)
        fds[i] = -1;
    do {
        n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    take_fds(&m, fds, n_fds);
    return (int)n;
}

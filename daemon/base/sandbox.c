/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

#define LOAD(member)             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ANSWER(what)             BPF_STMT(BPF_RET | BPF_K, (what))

int sandbox_enter(void)
{
    /* socket(family, ...): the families of networks are refused, Unix sockets stay */
    struct sock_filter filter[] = {
        LOAD(nr),
        IF_EQUAL(SYS_socket, 0, 5),
        LOAD(args[0]),
        IF_EQUAL(AF_INET, 2, 0),
        IF_EQUAL(AF_INET6, 1, 0),
        IF_EQUAL(AF_PACKET, 0, 1),
        ANSWER(SECCOMP_RET_ERRNO | (EACCES & SECCOMP_RET_DATA)),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        log_warn("worker", "this kernel does not let a worker give up the network", "error=\"%s\"",
                 strerror(errno));
    return 0;
}

int sandbox_limit_memory(uint32_t mbytes)
{
    const rlim_t bytes = (rlim_t)mbytes << 20;
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};

    if (!mbytes)
        return 0;
    return setrlimit(RLIMIT_DATA, &limit) < 0 ? -errno : 0;
}

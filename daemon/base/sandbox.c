/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#define OTHER_CALLS 0x40000000u /* of x86-64: from here on calls have other numbers (x32) */

#define LOAD(member)             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define IF_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), (yes), (no))
#define ANSWER(what)             BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(error)            ANSWER(SECCOMP_RET_ERRNO | ((error)&SECCOMP_RET_DATA))

/* Whether the process has opened a device with a driver, which is here by then. */
static bool has_driver(void)
{
    static const char *const drivers[] = {"libcuda.so.1", "libOpenCL.so.1"};
    void *driver = NULL;

    for (size_t i = 0; !driver && i < sizeof drivers / sizeof *drivers; i++)
        driver = dlopen(drivers[i], RTLD_LAZY | RTLD_NOLOAD);
    if (driver)
        dlclose(driver);
    return driver != NULL;
}

int sandbox_enter(void)
{
    /* drivers have no documented need of netlink, but might ask it for their devices */
    const uint32_t also = has_driver() ? AF_NETLINK : AF_UNIX;
    /* Sockets of other families are refused.  So are ways past that: calls with the numbers of
     * another architecture (32 bits, x32), and rings, whose requests no filter sees. */
    struct sock_filter filter[] = {
        LOAD(arch),
        IF_EQUAL(ARCHITECTURE, 0, 8),
        LOAD(nr),
        IF_LEAST(OTHER_CALLS, 6, 0),
        IF_EQUAL(SYS_io_uring_setup, 5, 0),
        IF_EQUAL(SYS_socket, 1, 0),
        IF_EQUAL(SYS_socketpair, 0, 5),
        LOAD(args[0]), /* the family */
        IF_EQUAL(AF_UNIX, 3, 0),
        IF_EQUAL(also, 2, 1),
        REFUSE(EPERM),
        REFUSE(EACCES),
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

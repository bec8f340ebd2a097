/* SPDX-License-Identifier: Apache-2.0 */
/* What a process in the sandbox of plugins is refused, and what it keeps. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/vm_sockets.h> /* wants sys/socket.h, says none of it on Ubuntu 24.04 */

#include <cmocka.h>

#include "base/sandbox.h"

#define NO_CALL 200 /* the exit code of a process for which the kernel has no such call */

/* The exit code of a process that makes that call: its error. */
static int in_process(int (*call)(void))
{
    const pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(call());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : NO_CALL; /* SIGSEGV: of int 0x80 */
}

static int (*call_inside)(void);

static int enter_and_call(void)
{
    return sandbox_enter() == 0 ? call_inside() : NO_CALL;
}

/* The same in the sandbox. */
static int inside(int (*call)(void))
{
    call_inside = call;
    return in_process(enter_and_call);
}

static int family;

static int open_socket(void)
{
    return socket(family, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int open_raw_socket(void)
{
    return socket(family, SOCK_RAW, 0) < 0 ? errno : 0;
}

static void sockets_of_others_are_refused(void **state)
{
    static const int families[] = {AF_INET,    AF_INET6, AF_PACKET,    AF_VSOCK,
                                   AF_NETLINK, AF_ALG,   AF_BLUETOOTH, AF_XDP};

    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        family = families[i];
        assert_int_equal(inside(open_socket), EACCES);
        assert_int_equal(inside(open_raw_socket), EACCES);
    }
}

/* Beside a driver netlink stays, and nothing else. */
static int open_beside_driver(void)
{
    void *driver = dlopen("libOpenCL.so.1", RTLD_LAZY);
    int r;

    if (!driver)
        return NO_CALL;
    r = sandbox_enter() == 0 ? open_raw_socket() : NO_CALL;
    dlclose(driver);
    return r;
}

static void drivers_keep_netlink(void **state)
{
    (void)state;
    family = AF_NETLINK;
    if (in_process(open_beside_driver) == NO_CALL)
        skip();
    assert_int_equal(in_process(open_beside_driver), 0);
    family = AF_INET;
    assert_int_equal(in_process(open_beside_driver), EACCES);
}

static int use_pair(void)
{
    int pair[2];
    char byte = 1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
        return errno;
    return write(pair[0], &byte, 1) == 1 && read(pair[1], &byte, 1) == 1 ? 0 : EIO;
}

static int open_pair(void)
{
    int pair[2];

    return socketpair(family, SOCK_DGRAM, 0, pair) < 0 ? errno : 0;
}

static void unix_sockets_stay(void **state)
{
    (void)state;
    family = AF_UNIX;
    assert_int_equal(inside(open_socket), 0);
    assert_int_equal(inside(use_pair), 0);
    family = AF_TIPC;
    assert_int_equal(inside(open_pair), EACCES);
}

static int make_ring(void)
{
    struct io_uring_params p = {0};

    return syscall(SYS_io_uring_setup, 4, &p) < 0 ? errno : 0;
}

static void rings_are_refused(void **state)
{
    (void)state;
    assert_int_equal(inside(make_ring), EPERM);
}

#ifdef __x86_64__
#define SOCKET_OF_I386 359

static int call_as_i386(void)
{
    long r;

    __asm__ volatile("int $0x80"
                     : "=a"(r)
                     : "0"((long)SOCKET_OF_I386), "b"((long)AF_INET), "c"((long)SOCK_STREAM),
                       "d"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)r < 0 ? (int)-r : 0;
}

static int call_as_x32(void)
{
    return syscall(0x40000000L | SYS_socket, AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static void calls_of_others_are_refused(void **state)
{
    const int r = inside(call_as_i386);

    (void)state;
    if (r != NO_CALL && r != ENOSYS)
        assert_int_equal(r, EPERM);
    assert_int_equal(inside(call_as_x32), EPERM);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_of_others_are_refused),
        cmocka_unit_test(drivers_keep_netlink),
        cmocka_unit_test(unix_sockets_stay),
        cmocka_unit_test(rings_are_refused),
#ifdef __x86_64__
        cmocka_unit_test(calls_of_others_are_refused),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

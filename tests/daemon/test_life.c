/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process is seen through the word that it owns, however it ends. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "exec/life.h"

#define LIMIT_MS 60000

static bool has_ended(const struct life *l, int within_ms)
{
    struct pollfd p = {.fd = life_fd(l), .events = POLLIN};

    return poll(&p, 1, within_ms) > 0;
}

enum { PAGE_FD = 10, READY_FD, GO_FD }; /* of the owner */
#define EXIT_CODE 7

/* This program, started again: holds the word, says so, and ends when it is told to. */
static int run_owner(void)
{
    char byte;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return life_hold(PAGE_FD) < 0 || write(READY_FD, "", 1) != 1 || read(GO_FD, &byte, 1) != 1
               ? 99
               : EXIT_CODE;
}

static pid_t start_owner(const struct life *l, int *ret_go)
{
    int ready[2], go[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        if (dup2(life_page(l), PAGE_FD) == PAGE_FD && dup2(ready[1], READY_FD) == READY_FD &&
            dup2(go[0], GO_FD) == GO_FD)
            execl("/proc/self/exe", "test_life", "own", (char *)NULL);
        _exit(98);
    }
    close(ready[1]);
    close(go[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *ret_go = go[1];
    return pid;
}

static void an_owner_ends(bool is_killed)
{
    struct life *l;
    int go, status;
    pid_t pid;

    assert_int_equal(life_new(&l), 0);
    assert_false(has_ended(l, 0)); /* nobody has it yet */
    pid = start_owner(l, &go);
    assert_false(has_ended(l, 50));
    if (is_killed)
        assert_int_equal(kill(pid, SIGKILL), 0);
    else
        assert_int_equal(write(go, "", 1), 1);
    assert_true(has_ended(l, LIMIT_MS)); /* nobody has waited for it */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(is_killed ? WTERMSIG(status) : WEXITSTATUS(status),
                     is_killed ? SIGKILL : EXIT_CODE);
    close(go);
    life_free(l);
}

static void an_owner_is_killed(void **state)
{
    (void)state;
    an_owner_ends(true);
}

static void an_owner_exits(void **state)
{
    (void)state;
    an_owner_ends(false);
}

/* Without an owner, and with one that lives, it can be freed. */
static void it_is_freed_before(void **state)
{
    struct life *l;
    int go;
    pid_t pid;

    (void)state;
    assert_int_equal(life_new(&l), 0);
    life_free(l);
    assert_int_equal(life_new(&l), 0);
    pid = start_owner(l, &go);
    life_free(l);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(go);
    life_free(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_is_killed),
        cmocka_unit_test(an_owner_exits),
        cmocka_unit_test(it_is_freed_before),
    };

    if (argc == 2 && !strcmp(argv[1], "own"))
        return run_owner();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

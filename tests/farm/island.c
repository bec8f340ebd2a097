/* SPDX-License-Identifier: Apache-2.0 */
#include "island.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define INSIDE "TRIGD_TEST_ISLAND"

/* Whether this user may have a namespace here. */
static bool is_allowed(void)
{
    char *words[] = {"unshare", "-rn", "true", NULL};
    int status;
    pid_t child;

    return posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0 &&
           waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void island_enter(char **argv)
{
    if (getenv(INSIDE) || !is_allowed())
        return;
    setenv(INSIDE, "1", 1);
    execlp("unshare", "unshare", "-rn", argv[0], (char *)NULL);
    perror("unshare");
    exit(1);
}

bool island_is_there(void)
{
    return getenv(INSIDE) != NULL;
}

/* An alias of the loopback device has the address; without it nothing has, and there is no route.
 */
static void set_flag(const char *device, int flag, bool is_on)
{
    struct ifreq r = {.ifr_flags = 0};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    assert_true(fd >= 0);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", device);
    assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &r), 0);
    r.ifr_flags = (short)(is_on ? r.ifr_flags | flag : r.ifr_flags & ~flag);
    assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &r), 0);
    close(fd);
}

void island_join(unsigned number)
{
    struct ifreq r = {.ifr_flags = 0};
    struct sockaddr_in a = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    assert_true(fd >= 0);
    set_flag("lo", IFF_UP, true);
    snprintf(r.ifr_name, sizeof r.ifr_name, "lo:%u", number);
    a.sin_addr.s_addr = htonl(0x0a090000u + number);
    memcpy(&r.ifr_addr, &a, sizeof a);
    assert_int_equal(ioctl(fd, SIOCSIFADDR, &r), 0);
    a.sin_addr.s_addr = htonl(0xffffffffu);
    memcpy(&r.ifr_netmask, &a, sizeof a);
    assert_int_equal(ioctl(fd, SIOCSIFNETMASK, &r), 0);
    close(fd);
}

void island_cut(unsigned number)
{
    char device[IFNAMSIZ];

    snprintf(device, sizeof device, "lo:%u", number);
    set_flag(device, IFF_UP, false);
}

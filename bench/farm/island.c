/* SPDX-License-Identifier: Apache-2.0 */
#include "island.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSIDE    "TRIGD_ISLAND"
#define WORDS_MAX 62

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
    char *words[WORDS_MAX + 2] = {"unshare", "-rn"};

    if (getenv(INSIDE) || !is_allowed())
        return;
    for (int i = 0; argv[i] && i + 2 < WORDS_MAX; i++)
        words[i + 2] = argv[i];
    setenv(INSIDE, "1", 1);
    execvp(words[0], words);
    perror(words[0]);
    exit(1);
}

bool island_is_there(void)
{
    return getenv(INSIDE) != NULL;
}

static int set_flag(int fd, const char *device, int flag, bool is_on)
{
    struct ifreq r = {.ifr_flags = 0};

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", device);
    if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
        return -errno;
    r.ifr_flags = (short)(is_on ? r.ifr_flags | flag : r.ifr_flags & ~flag);
    return ioctl(fd, SIOCSIFFLAGS, &r) < 0 ? -errno : 0;
}

/* An alias of the loopback device has the address; without it nothing has, and there is no route.
 */
static int add_alias(int fd, unsigned number)
{
    struct ifreq r = {.ifr_flags = 0};
    struct sockaddr_in a = {.sin_family = AF_INET};

    snprintf(r.ifr_name, sizeof r.ifr_name, "lo:%u", number);
    a.sin_addr.s_addr = htonl(0x0a090000u + number);
    memcpy(&r.ifr_addr, &a, sizeof a);
    if (ioctl(fd, SIOCSIFADDR, &r) < 0)
        return -errno;
    a.sin_addr.s_addr = htonl(0xffffffffu);
    memcpy(&r.ifr_netmask, &a, sizeof a);
    return ioctl(fd, SIOCSIFNETMASK, &r) < 0 ? -errno : 0;
}

int island_join(unsigned number)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int r = fd < 0 ? -errno : set_flag(fd, "lo", IFF_UP, true);

    if (r == 0)
        r = add_alias(fd, number);
    if (fd >= 0)
        close(fd);
    return r;
}

int island_cut(unsigned number)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    char device[IFNAMSIZ];
    int r;

    snprintf(device, sizeof device, "lo:%u", number);
    r = fd < 0 ? -errno : set_flag(fd, device, IFF_UP, false);
    if (fd >= 0)
        close(fd);
    return r;
}

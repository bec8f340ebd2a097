/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/who.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

int who_group(const char *name, struct who_group *ret_group)
{
    struct group entry, *found = NULL;
    char room[4096];

    *ret_group = (struct who_group){.is_any = !name[0]};
    if (!name[0])
        return 0;
    getgrnam_r(name, &entry, room, sizeof room, &found);
    if (!found) {
        log_error("control", "there is no such group", "control.act_group=\"%s\"", name);
        return -EINVAL;
    }
    ret_group->gid = found->gr_gid;
    return 0;
}

/* Whether the process at the other end is in a group, its own or one that it was given. */
static bool is_member(int fd, gid_t own, gid_t wanted)
{
    gid_t group[256];
    socklen_t n = sizeof group;

    if (own == wanted)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &n) < 0)
        return false; /* in more groups than we look at, or not told */
    for (size_t i = 0; i < n / sizeof *group; i++)
        if (group[i] == wanted)
            return true;
    return false;
}

bool who_is(int fd, const struct who_group *group, struct control_who *ret_who)
{
    struct ucred who = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t n = sizeof who;
    struct passwd entry, *found = NULL;
    char room[1024];
    bool is_operator;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
        log_warn("control", "cannot tell who is connected", "fd=%d", fd);
    getpwuid_r(who.uid, &entry, room, sizeof room, &found);
    snprintf(ret_who->name, sizeof ret_who->name, "%.20s (uid %u, pid %d)",
             found ? found->pw_name : "?", (unsigned)who.uid, (int)who.pid);
    is_operator = who.uid == 0 || who.uid == geteuid();
    ret_who->may_act = is_operator || group->is_any || is_member(fd, who.gid, group->gid);
    return is_operator;
}

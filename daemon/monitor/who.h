/* SPDX-License-Identifier: Apache-2.0 */
/* who.h - the peer's user of a Unix socket, from the kernel, and its rights. */
#ifndef TRIGD_WHO_H
#define TRIGD_WHO_H
#include <stdbool.h>
#include <sys/types.h>

struct control_who {
    char name[48]; /* for the log: "anna (uid 1000, pid 4711)" */
    bool may_act;  /* else only look */
};

struct who_group { /* whose members may act */
    bool is_any;   /* all users */
    gid_t gid;
};

/* The group of that name; "" is all users.  -EINVAL, logged: there is none. */
int who_group(const char *name, struct who_group *ret_group);
/* The peer's user.  Returns whether it is an operator: root and the daemon's own user always are.
 */
bool who_is(int fd, const struct who_group *group, struct control_who *ret_who);
#endif

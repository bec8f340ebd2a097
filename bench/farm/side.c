/* SPDX-License-Identifier: Apache-2.0 */
#include "side.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

struct sides {
    unsigned n;
    struct served {
        pid_t pid;
        int go, out;
    } of[SIDE_MAX];
};

struct round { /* of one process; its first word says that it is ready */
    double done;
    uint64_t began_ns, ended_ns;
};

/* In a process of its own: waits for a byte before each round, and writes what it did. */
static int serve(const struct side *side, const char *folder, int go, int out)
{
    struct round round = {.done = 0};
    char byte = 0;
    int r = side->open(side->ctx, folder);

    while (r == 0 && write(out, &round, sizeof round) > 0 && read(go, &byte, 1) == 1) {
        round.began_ns = clock_ns();
        r = side->run(side->ctx, &round.done);
        round.ended_ns = clock_ns();
        if (r == 0 && write(out, &round, sizeof round) < 0)
            r = -errno;
    }
    side->close(side->ctx);
    return r < 0 ? 1 : 0;
}

static int start(struct sides *all, const struct side *side, const char *folder)
{
    static unsigned folders; /* of all sides of the program */
    struct served *s = &all->of[all->n];
    char own[96];
    int go[2], out[2];

    snprintf(own, sizeof own, "%s/s%u", folder, folders++);
    if (mkdir(own, 0700) < 0 || pipe(go) < 0 || pipe(out) < 0)
        return -errno;
    s->pid = fork();
    if (s->pid < 0)
        return -errno;
    if (!s->pid) {
        close(go[1]);
        close(out[0]);
        for (unsigned i = 0; i < all->n; i++)
            close(all->of[i].go); /* so that those end when the benchmark lets go */
        _exit(serve(side, own, go[0], out[1]));
    }
    close(go[0]);
    close(out[1]);
    s->go = go[1];
    s->out = out[0];
    all->n++;
    return 0;
}

int sides_open(const struct side *side, unsigned n, const char *folder, struct sides **ret_sides)
{
    struct sides *s = n <= SIDE_MAX ? calloc(1, sizeof *s) : NULL;
    int r = 0;

    if (!s)
        return n <= SIDE_MAX ? -ENOMEM : -EINVAL;
    for (unsigned i = 0; r == 0 && i < n; i++)
        r = start(s, side, folder);
    if (r < 0) {
        sides_close(s);
        return r;
    }
    *ret_sides = s;
    return 0;
}

static int hear(const struct served *s, struct round *ret)
{
    return read(s->out, ret, sizeof *ret) == sizeof *ret ? 0 : -EPIPE;
}

int sides_run(struct sides *s, double *ret_rate)
{
    uint64_t began_ns = UINT64_MAX, ended_ns = 0;
    struct round one;
    double done = 0;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < s->n; i++)
        r = hear(&s->of[i], &one); /* it is ready */
    for (unsigned i = 0; r == 0 && i < s->n; i++)
        r = write(s->of[i].go, "", 1) == 1 ? 0 : -errno;
    for (unsigned i = 0; r == 0 && i < s->n; i++) {
        r = hear(&s->of[i], &one);
        done += one.done;
        began_ns = one.began_ns < began_ns ? one.began_ns : began_ns;
        ended_ns = one.ended_ns > ended_ns ? one.ended_ns : ended_ns;
    }
    *ret_rate = r == 0 ? done / ((double)(ended_ns - began_ns) * 1e-9) : 0;
    return r;
}

void sides_close(struct sides *s)
{
    for (unsigned i = 0; s && i < s->n; i++) {
        close(s->of[i].go);
        close(s->of[i].out);
        waitpid(s->of[i].pid, NULL, 0);
    }
    free(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* side.h - the same thing measured in several processes side by side, all at the same time. */
#ifndef TRIGD_BENCH_SIDE_H
#define TRIGD_BENCH_SIDE_H

#define SIDE_MAX 16u

struct side { /* each process has a copy */
    int (*open)(void *ctx, const char *folder);
    int (*run)(void *ctx, double *ret_done); /* one round: how much was done in it */
    void (*close)(void *ctx);
    void *ctx;
};

struct sides;
/* Starts n processes, each with a folder of its own in `folder`.  Negative errno. */
int sides_open(const struct side *side, unsigned n, const char *folder, struct sides **ret_sides);
/* One round: what all did, over the time from the first one's beginning to the last one's end. */
int sides_run(struct sides *s, double *ret_rate);
void sides_close(struct sides *s); /* NULL is fine */
#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct run {
    uint32_t from, to; /* voxels [from, to) of its row */
    uint32_t node;
};

struct plane { /* runs of a plane, row by row */
    struct run *runs;
    uint32_t n, room;
    uint32_t *rows; /* [ny + 1]: first run of each row */
};

struct node {
    uint32_t parent;
    uint64_t size; /* of the tree, at its root */
};

struct vox_stream {
    uint32_t nx, ny;
    struct plane now, before;
    struct node *nodes; /* components that reach the plane before, and runs of this one */
    uint32_t n_nodes, room;
    uint64_t count, ended, largest; /* ended: components that later planes cannot reach */
};

static void close_plane(struct plane *p)
{
    free(p->runs);
    free(p->rows);
}

int vox_stream_open(uint32_t nx, uint32_t ny, struct vox_stream **ret_stream)
{
    struct vox_stream *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->nx = nx;
    s->ny = ny;
    s->now.rows = calloc(ny + (size_t)1, sizeof *s->now.rows);
    s->before.rows = calloc(ny + (size_t)1, sizeof *s->before.rows);
    if (!s->now.rows || !s->before.rows) {
        vox_stream_close(s);
        return -ENOMEM;
    }
    *ret_stream = s;
    return 0;
}

void vox_stream_close(struct vox_stream *s)
{
    if (!s)
        return;
    close_plane(&s->now);
    close_plane(&s->before);
    free(s->nodes);
    free(s);
}

/* ---------------------------------------------------------------- union-find */

static uint32_t root_of(struct vox_stream *s, uint32_t node)
{
    while (s->nodes[node].parent != node)
        node = s->nodes[node].parent = s->nodes[s->nodes[node].parent].parent;
    return node;
}

static void join(struct vox_stream *s, uint32_t a, uint32_t b)
{
    a = root_of(s, a);
    b = root_of(s, b);
    if (a == b)
        return;
    if (s->nodes[a].size < s->nodes[b].size) {
        const uint32_t c = a;

        a = b;
        b = c;
    }
    s->nodes[b].parent = a;
    s->nodes[a].size += s->nodes[b].size;
}

/* Joins the runs of two rows that touch. */
static void join_rows(struct vox_stream *s, const struct plane *p, uint32_t row,
                      const struct plane *q, uint32_t other)
{
    uint32_t i = p->rows[row], k = q->rows[other];

    while (i < p->rows[row + 1] && k < q->rows[other + 1]) {
        const struct run *a = &p->runs[i], *b = &q->runs[k];

        if (a->from < b->to && b->from < a->to)
            join(s, a->node, b->node);
        if (a->to < b->to)
            i++;
        else
            k++;
    }
}

/* ---------------------------------------------------------------- runs */

static int add_run(struct vox_stream *s, uint32_t from, uint32_t to)
{
    struct plane *p = &s->now;

    if (p->n == p->room) {
        const uint32_t room = p->room ? 2 * p->room : 1024;
        struct run *runs = realloc(p->runs, room * sizeof *runs);

        if (!runs)
            return -ENOMEM;
        p->runs = runs;
        p->room = room;
    }
    if (s->n_nodes == s->room) {
        const uint32_t room = s->room ? 2 * s->room : 1024;
        struct node *nodes = realloc(s->nodes, room * sizeof *nodes);

        if (!nodes)
            return -ENOMEM;
        s->nodes = nodes;
        s->room = room;
    }
    s->nodes[s->n_nodes] = (struct node){s->n_nodes, to - from};
    p->runs[p->n++] = (struct run){from, to, s->n_nodes++};
    s->count += to - from;
    return 0;
}

/* The first voxel from x on whose label is `label`; nx where there is none. */
static uint32_t find(const unsigned char *row, uint32_t x, uint32_t nx, unsigned label)
{
    const unsigned flip = label ? 0 : 0xff;

    while (x < nx) {
        const unsigned byte = (row[x / 8] ^ flip) & (0xffu << x % 8) & 0xff;

        if (byte) {
            x = x / 8 * 8 + (uint32_t)__builtin_ctz(byte);
            return x < nx ? x : nx;
        }
        x = x / 8 * 8 + 8;
    }
    return nx;
}

static int read_row(struct vox_stream *s, const unsigned char *row)
{
    int r = 0;

    for (uint32_t x = find(row, 0, s->nx, 1); r == 0 && x < s->nx;) {
        const uint32_t to = find(row, x, s->nx, 0);

        r = add_run(s, x, to);
        x = find(row, to, s->nx, 1);
    }
    return r;
}

/* ---------------------------------------------------------------- planes */

/* Keeps a node for each component that this plane holds, and counts the others as ended. */
static int renumber(struct vox_stream *s)
{
    uint32_t *number = malloc((s->n_nodes + (size_t)1) * sizeof *number);
    struct node *kept = malloc((s->now.n + (size_t)1) * sizeof *kept);
    uint32_t n = 0;

    if (!number || !kept) {
        free(number);
        free(kept);
        return -ENOMEM;
    }
    memset(number, 0xff, s->n_nodes * sizeof *number);
    for (uint32_t i = 0; i < s->now.n; i++) {
        const uint32_t root = root_of(s, s->now.runs[i].node);

        if (number[root] == UINT32_MAX) {
            kept[n] = (struct node){n, s->nodes[root].size};
            number[root] = n++;
        }
        s->now.runs[i].node = number[root];
    }
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].parent == i && number[i] == UINT32_MAX) {
            s->ended++;
            s->largest = s->nodes[i].size > s->largest ? s->nodes[i].size : s->largest;
        }
    if (n)
        memcpy(s->nodes, kept, n * sizeof *kept);
    s->n_nodes = n;
    free(number);
    free(kept);
    return 0;
}

int vox_stream_plane(struct vox_stream *s, const unsigned char *bits, uint32_t row_bytes)
{
    struct plane old = s->before;
    int r = 0;

    s->before = s->now;
    s->now = old;
    s->now.n = 0;
    for (uint32_t y = 0; r == 0 && y < s->ny; y++) {
        s->now.rows[y] = s->now.n;
        r = read_row(s, bits + (size_t)y * row_bytes);
        s->now.rows[y + 1] = s->now.n;
        if (r < 0)
            break;
        if (y)
            join_rows(s, &s->now, y, &s->now, y - 1);
        join_rows(s, &s->now, y, &s->before, y);
    }
    return r ? r : renumber(s);
}

void vox_stream_sums(const struct vox_stream *s, struct vox_stream_sums *ret_sums)
{
    *ret_sums = (struct vox_stream_sums){s->count, s->ended + s->n_nodes, s->largest};
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].size > ret_sums->largest)
            ret_sums->largest = s->nodes[i].size;
}

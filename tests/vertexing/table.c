/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACKS_MAX 16384u

/* Events of a table as they are read. */
struct rows {
    struct event *events;
    uint32_t n;
    long number; /* of the last event */
};

static int next_event(struct rows *r, long number)
{
    struct event *more;

    if (r->n && number == r->number)
        return 0;
    more = realloc(r->events, (r->n + 1u) * sizeof *more);
    if (!more)
        return -ENOMEM;
    r->events = more;
    r->number = number;
    if (event_init(&more[r->n], TRACKS_MAX) < 0)
        return -ENOMEM;
    more[r->n].info = (struct trg_roi_info){.l1id = (uint32_t)number, .phi_half_rad = 4};
    r->n++;
    return 0;
}

/* One line; -EBADMSG: it is neither a vertex nor a track. */
static int take_line(struct rows *r, const char *line)
{
    struct event_vertex v = {.parent = EVENT_NOBODY};
    struct event_track t = {0};
    double chi2, qop;
    uint32_t of, n_hits;
    long number;
    int status;

    if (sscanf(line, "vertex,%ld,%u,%lf,%lf,%lf,%u", &number, &v.kind, &v.x, &v.y, &v.z,
               &v.n_tracks) == 6) {
        status = next_event(r, number);
        if (status == 0 && r->events[r->n - 1].n_vertices < EVENT_VERTICES)
            r->events[r->n - 1].vertices[r->events[r->n - 1].n_vertices++] = v;
        return status;
    }
    if (sscanf(line, "track,%ld,%u,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%u", &number, &of, &t.x,
               &t.y, &t.z, &t.tx, &t.ty, &t.var_x, &t.var_tx, &t.cov_x_tx, &chi2, &qop,
               &n_hits) != 13)
        return -EBADMSG;
    status = next_event(r, number);
    if (status == 0) {
        struct event *e = &r->events[r->n - 1];
        const uint32_t i = e->n;

        event_add(e, &t, EVENT_NOBODY);
        if (e->n > i) {
            event_floats(e, 8)[i] = (float)chi2;
            event_floats(e, 9)[i] = (float)qop;
            ((uint32_t *)e->column[10])[i] = n_hits;
            e->vertex[i] = of;
        }
    }
    return status;
}

int table_read(const char *path, struct event **ret_events, uint32_t *ret_n)
{
    FILE *f = fopen(path, "r");
    struct rows r = {0};
    char line[512];
    uint32_t number = 0;
    int status = f ? 0 : -errno;

    while (status == 0 && fgets(line, sizeof line, f)) {
        number++;
        if (*line != '#')
            status = take_line(&r, line);
    }
    if (status < 0) {
        fprintf(stderr, "%s, line %u: %s\n", path, number,
                status == -EBADMSG ? "neither a vertex nor a track" : strerror(-status));
        for (uint32_t i = 0; i < r.n; i++)
            event_fini(&r.events[i]);
        free(r.events);
    }
    if (f)
        fclose(f);
    *ret_events = status < 0 ? NULL : r.events;
    *ret_n = status < 0 ? 0 : r.n;
    return status;
}

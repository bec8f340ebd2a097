/* SPDX-License-Identifier: Apache-2.0 */
/* send_rois ENDPOINT [N] - a client in C: sends N synthetic RoIs of spacepoints on straight tracks
 * and prints what was decided.
 *
 * With an installed trigd: cc send_rois.c $(pkg-config --cflags --libs trigd-client) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <trigd/client.h>

#define TRACKS 20u
#define LAYERS 8u
#define POINTS (TRACKS * LAYERS)
#define ROIS   64u /* made anew when they were all used */

/* The columns of an RoI stay unchanged until it has ended: each has its own. */
struct made {
    struct trg_client_roi roi;
    struct trg_client_items points;
    float phi[POINTS], rho[POINTS], z[POINTS];
    uint8_t layer[POINTS];
};

struct counts {
    const struct trg_client *client;
    unsigned accepted, rejected, refused, lost;
};

static void make(struct made *m, uint32_t number)
{
    const float z_vertex = (float)(number % 200) - 100;

    for (uint32_t i = 0; i < POINTS; i++) {
        const uint32_t track = i / LAYERS, layer = i % LAYERS;

        m->rho[i] = 50 + 50 * (float)layer;
        m->phi[i] = -0.1f + 0.01f * (float)track;
        m->z[i] = z_vertex + m->rho[i] * sinhf(-0.1f + 0.01f * (float)track);
        m->layer[i] = (uint8_t)layer;
    }
    m->points = (struct trg_client_items){
        .declaration = &trg_spacepoints, .column = {m->phi, m->rho, m->z, m->layer}, .n = POINTS};
    m->roi = (struct trg_client_roi){.info = {.run = 1,
                                              .l1id = number,
                                              .l1_bits = 0xffffffff,
                                              .eta_half = 0.2f,
                                              .phi_half_rad = 0.2f,
                                              .z_min_mm = -225,
                                              .z_max_mm = 225},
                                     .collections = &m->points,
                                     .n_collections = 1,
                                     .user = number};
}

/* Called back once for each RoI. */
static void on_end(void *arg, const struct trg_client_end *end)
{
    struct counts *c = arg;

    if (end->kind == TRG_CLIENT_REFUSED)
        fprintf(stderr, "RoI %u is refused: %s\n", end->l1id, end->text);
    c->refused += end->kind == TRG_CLIENT_REFUSED;
    c->lost += end->kind == TRG_CLIENT_LOST;
    if (end->kind != TRG_CLIENT_DECIDED)
        return;
    *(end->accept ? &c->accepted : &c->rejected) += 1;
    if (c->accepted + c->rejected > 1)
        return;
    printf("RoI %u: %s after %u us\n", end->l1id, end->accept ? "accepted" : "rejected",
           end->latency_us);
    for (uint32_t r = 0; r < end->n_results; r++) {
        const struct trg_client_step *step =
            &trg_client_names(c->client)->steps[end->results[r].step];

        for (uint32_t v = 0; v < end->results[r].n_values && v < step->n_values; v++)
            printf("  %s.%s = %g\n", step->name, step->values[v],
                   (double)end->results[r].values[v]);
    }
}

static int send_all(struct trg_client *c, struct made *made, uint32_t n)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        if (i % ROIS == 0)
            r = trg_client_drain(c, 10000); /* their columns are written anew */
        make(&made[i % ROIS], i);
        if (r == 0)
            r = trg_client_await_room(c, 1, 10000);
        if (r == 0)
            r = trg_client_send(c, &made[i % ROIS].roi, 1);
    }
    return r == 0 ? trg_client_drain(c, 10000) : r;
}

int main(int argc, char **argv)
{
    struct trg_client_options o = TRG_CLIENT_OPTIONS_INIT;
    struct made *made = calloc(ROIS, sizeof *made);
    struct counts counts = {.client = NULL};
    struct trg_client *c = NULL;
    char why[256];
    int r;

    if (argc < 2 || !made) {
        fprintf(stderr, "usage: send_rois ENDPOINT [N]\n");
        return 2;
    }
    o.endpoint = argv[1];
    o.name = "send_rois";
    o.ended = on_end;
    o.arg = &counts;
    if (trg_client_open(&o, &c, why, sizeof why) < 0) {
        fprintf(stderr, "send_rois: %s\n", why);
        free(made);
        return 3;
    }
    counts.client = c;
    r = send_all(c, made, argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100);
    trg_client_close(c);
    free(made);
    printf("%u accepted, %u rejected, %u refused, %u lost\n", counts.accepted, counts.rejected,
           counts.refused, counts.lost);
    return r == 0 && !counts.lost ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "score.h"

static int lhcb(const char *base, struct event *e)
{
    FILE *f = fopen(base, "r");
    unsigned np, nt;
    e->n = e->n_vertices = 0;
    if (!f || fscanf(f, "%u %u", &np, &nt) != 2) return -1;
    for (unsigned i = 0; i < np; i++) { struct event_vertex *v = &e->vertices[e->n_vertices++]; unsigned n; memset(v,0,sizeof *v); if (fscanf(f, "%u %lf %lf %lf", &n,&v->x,&v->y,&v->z)!=4) return -1; v->n_tracks=n;}
    for (unsigned i = 0; i < nt; i++) { struct event_track t={0}; double c; int b, st; if (fscanf(f,"%lf %lf %lf %lf %lf %lf %lf %lf %lf %d %d",&t.x,&t.y,&t.z,&t.tx,&t.ty,&t.var_x,&t.var_tx,&t.cov_x_tx,&c,&b,&st)!=11) return -1; event_add(e,&t,EVENT_NOBODY);}
    fclose(f);
    return 0;
}
int main(int argc, char **argv)
{
    uint32_t n = 2000;
    struct vx_host h;
    struct vx_config c;
    struct vx_answer *a;
    struct event *e;
    struct driver *d;
    struct trg_device *dev;
    struct score s = {0};
    const char *set[64] = {0}; int k = 0; const char *preset = 0; const char *data = 0;
    struct toy toy = toy_velo; toy.b_fraction = 0.5;
    for (int i = 1; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        if (!strncmp(argv[i], "n=", 2)) n = (uint32_t)atol(argv[i]+2);
        else if (!strncmp(argv[i], "preset=", 7)) preset = argv[i]+7;
        else if (!strncmp(argv[i], "data=", 5)) data = argv[i]+5;
        else if (eq) { *eq = 0; set[k++] = argv[i]; set[k++] = eq+1; }
    }
    if (vx_host_open(&h) < 0 || vx_configure(&h, preset, set, &c) < 0) return 1;
    backends_device(h.backends, "cpu", 0, &dev);
    if (data) n = 6;
    e = calloc(n, sizeof *e);
    vx_answers_new(n, &a);
    for (uint32_t i = 0; i < n; i++) {
        event_init(&e[i], 2048);
        if (data) { char b[512]; snprintf(b, sizeof b, "%s/ev%u.txt", data, i+1); if (lhcb(b, &e[i])) return 1; }
        else toy_make(&toy, 1, i, &e[i]);
    }
    if (driver_open(&h, dev, &c, 64, 100000, &d) < 0) return 1;
    driver_run(d, e, n, a);
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    driver_run(d, e, n, a);
    clock_gettime(CLOCK_MONOTONIC, &t1);
    uint64_t tr = 0; double nsv = 0, sel = 0, cross = 0, edges = 0, trunc = 0;
    for (uint32_t i = 0; i < n; i++) { score_add(&s, &e[i], &a[i]); tr += e[i].n; nsv += a[i].result.value[1]; sel += a[i].result.value[9]; cross += a[i].result.value[10]; edges += a[i].result.value[15]; trunc += a[i].result.status; }
    printf("%.1f us/event, %.1f tracks, %.1f PV reconstructible, %.2f SV cand, %.1f selected %.1f crossings %.1f edges trunc %.0f\n", ((double)(t1.tv_sec-t0.tv_sec)*1e6+(double)(t1.tv_nsec-t0.tv_nsec)*1e-3)/n, (double)tr/n, (double)s.all/n, nsv/n, sel/n, cross/n, edges/n, trunc);
    printf("eff %.4f isolated %.4f (%u) close %.4f (%u) false %.4f  b %.3f (%u)\n", score_ratio(s.all_found,s.all,0), score_ratio(s.isolated_found,s.isolated,0), s.isolated, score_ratio(s.close_found,s.close,0), s.close, score_ratio(s.false_ones,s.reconstructed,0), score_ratio(s.b_found,s.b_decays,0), s.b_decays);
    for (int b = 0; b < 10; b++) if (s.bin[b].n) printf("  >=%3u: %6u  res %.1f %.1f %.1f um  pull %.2f %.2f %.2f\n", score_bin_low[b], s.bin[b].n, 1e3*sqrt(s.bin[b].sum2[0]/s.bin[b].n), 1e3*sqrt(s.bin[b].sum2[1]/s.bin[b].n),1e3*sqrt(s.bin[b].sum2[2]/s.bin[b].n), sqrt(s.bin[b].pull2[0]/s.bin[b].n), sqrt(s.bin[b].pull2[1]/s.bin[b].n), sqrt(s.bin[b].pull2[2]/s.bin[b].n));
    return 0;
}

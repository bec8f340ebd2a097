/* SPDX-License-Identifier: Apache-2.0 */
/* The kept samples of simulated collisions (samples/README.md) come in, each through its detector,
 * and what is made of them is the same on every machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "imports.h"

struct sums {
    double hits, noise, visible, collisions, beauty, flight;
    uint64_t digest; /* of the packed RoIs */
};

static uint64_t fnv(uint64_t h, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h;
}

static double distance(const Trigd__V1__Truth *t, size_t a, size_t b)
{
    double x = (double)(t->vertex_x_mm[a] - t->vertex_x_mm[b]);
    double y = (double)(t->vertex_y_mm[a] - t->vertex_y_mm[b]);
    double z = (double)(t->vertex_z_mm[a] - t->vertex_z_mm[b]);

    return sqrt(x * x + y * y + z * z);
}

static void add_vertices(struct sums *s, const Trigd__V1__Truth *t)
{
    for (size_t v = 0; v < t->n_vertex_kind; v++) {
        if (t->vertex_kind[v] == GENERATOR_PRIMARY) {
            s->collisions++;
            s->visible += t->vertex_tracks[v];
        } else if (t->vertex_kind[v] == GENERATOR_BEAUTY) {
            s->beauty++;
            s->flight += distance(t, v, t->vertex_parent[v]);
        }
    }
}

static struct sums sum_up(struct place *p, const char *name, const char *preset)
{
    struct sums s = {.digest = 0xcbf29ce484222325u};
    char path[512];

    snprintf(path, sizeof path, "%s/samples/%s.csv.gz", getenv("TRIGD_SOURCE"), name);
    p->im.preset = generator_find(preset);
    imports(p, "particles", path);
    for (uint32_t i = 0; i < p->n; i++) {
        const Trigd__V1__Roi *r = roi(p, i);
        size_t n = trigd__v1__roi__get_packed_size(r);
        unsigned char *bytes = malloc(n);

        assert_non_null(bytes);
        trigd__v1__roi__pack(r, bytes);
        s.digest = fnv(s.digest, bytes, n);
        free(bytes);
        s.hits += (double)r->hits->n_x_mm / p->n;
        for (size_t k = 0; k < r->truth->n_item_particle; k++)
            s.noise += r->truth->item_particle[k] == GENERATOR_NOISE;
        add_vertices(&s, r->truth);
    }
    printf("%s: %u events, %.0f hits, %.1f collisions of %.1f tracks, %.2f b decays after %.2f mm, "
           "digest 0x%016llx\n",
           name, p->n, s.hits, s.collisions / p->n, s.visible / s.collisions, s.beauty / p->n,
           s.beauty > 0 ? s.flight / s.beauty : 0, (unsigned long long)s.digest);
    return s;
}

static void velo_samples_come_in(void **state)
{
    struct place *p = *state;
    struct sums s = sum_up(p, "velo-bbbar", "velo");

    assert_int_equal(p->n, 60);
    assert_true(s.beauty >= 60); /* one of each event's flies forward */
    assert_near(s.collisions / p->n, 6, 5 * sqrt(5.0 / 60));
    assert_near(s.noise / p->n, 3, 5 * sqrt(3.0 / 60));
    assert_true(s.flight / s.beauty > 3 && s.flight / s.beauty < 20);
    assert_true(s.digest == 0x8724a17bacb24484u);
    forget(p);
    s = sum_up(p, "velo-minbias", "velo");
    assert_int_equal(p->n, 60);
    assert_true(s.beauty < 30); /* collisions make some by themselves */
    assert_true(s.digest == 0xef18c19f1115bb88u);
}

static void pixel_samples_come_in(void **state)
{
    struct place *p = *state;
    struct sums s = sum_up(p, "pixel-bbbar", "pixel");

    assert_int_equal(p->n, 60);
    assert_true(s.beauty >= 60);
    assert_near(s.collisions, 60, 0);
    assert_true(s.digest == 0x909d496f1e43c338u);
    forget(p);
    s = sum_up(p, "pixel50-minbias", "pixel50");
    assert_int_equal(p->n, 4);
    assert_near(s.collisions / p->n, 51, 5 * sqrt(50.0 / 4));
    assert_true(s.digest == 0xb83c45a5f4e5c5f1u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(velo_samples_come_in),
        IN_PLACE(pixel_samples_come_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

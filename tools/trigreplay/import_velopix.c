/* SPDX-License-Identifier: Apache-2.0 */
/* Events of LHCb's vertex detector as JSON: one object with x, y, z (mm) of all hits in the order
 * of the modules; module_prefix_sum, whose entry m says where module m begins; and perhaps
 * montecarlo, with the names of its columns (description) and particles, each with the list of its
 * hits. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "gen_store.h"
#include "import.h"

#define PLACE_MAX    1e5 /* mm */
#define HITS_MAX     1000000
#define MODULES_MAX  65535
#define MEV          1e-3 /* GeV */
#define MOMENTUM_MAX 1e9  /* MeV */

struct file {
    struct import *im;
    const char *path;
};

static int fail(const struct file *f, const char *what, const char *wanted)
{
    return import_fail(f->im, -EBADMSG, "%s: %s: %s is wanted", f->path, what, wanted);
}

static bool is_number_within(const json_t *v, double most)
{
    return json_is_number(v) && fabs(json_number_value(v)) <= most;
}

static bool is_index_below(const json_t *v, json_int_t n)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < n;
}

/* ---------------------------------------------------------------- hits */

static int check_hits(const struct file *f, json_t *const *axes, size_t *ret_n)
{
    static const char *const names[] = {"x", "y", "z"};
    size_t n = json_array_size(axes[0]), i;
    json_t *v;

    if (n > HITS_MAX)
        return fail(f, "x", "a list of at most 1000000 numbers");
    for (int a = 0; a < 3; a++) {
        if (!json_is_array(axes[a]) || json_array_size(axes[a]) != n)
            return fail(f, names[a], "a list as long as that of x");
        json_array_foreach(axes[a], i, v) if (!is_number_within(v, PLACE_MAX)) return import_fail(
            f->im, -EBADMSG, "%s: %s[%zu]: a number of mm is wanted", f->path, names[a], i);
    }
    *ret_n = n;
    return 0;
}

static int check_modules(const struct file *f, const json_t *starts, size_t n_hits)
{
    size_t n = json_array_size(starts), i;
    json_int_t before = 0;
    json_t *v;

    if (n < 2 || n > MODULES_MAX)
        return fail(f, "module_prefix_sum", "a list with where each module begins, and the end");
    json_array_foreach(starts, i, v)
    {
        if (!is_index_below(v, (json_int_t)n_hits + 1) || json_integer_value(v) < before)
            return import_fail(f->im, -EBADMSG,
                               "%s: module_prefix_sum[%zu]: a whole number from %lld to %zu is "
                               "wanted",
                               f->path, i, (long long)before, n_hits);
        before = json_integer_value(v);
    }
    if (json_integer_value(json_array_get(starts, 0)) != 0 || (size_t)before != n_hits)
        return fail(f, "module_prefix_sum", "0 first and the number of hits last");
    return 0;
}

static int read_hits(const struct file *f, const json_t *event)
{
    json_t *axes[] = {json_object_get(event, "x"), json_object_get(event, "y"),
                      json_object_get(event, "z")};
    const json_t *starts = json_object_get(event, "module_prefix_sum");
    size_t n = 0, module = 0;
    int r = check_hits(f, axes, &n);

    if (r == 0)
        r = check_modules(f, starts, n);
    for (size_t i = 0; r == 0 && i < n; i++) {
        while ((size_t)json_integer_value(json_array_get(starts, module + 1)) <= i)
            module++;
        r = store_hit(&f->im->g, json_number_value(json_array_get(axes[0], i)),
                      json_number_value(json_array_get(axes[1], i)),
                      json_number_value(json_array_get(axes[2], i)), (uint32_t)module,
                      GENERATOR_NOISE);
        if (r < 0)
            import_fail(f->im, r, "%s: no memory", f->path);
    }
    return r;
}

/* ---------------------------------------------------------------- particles */

enum column { PID, PT, ETA, PHI, LONG, BEAUTY, CHARM, STRANGE, CHARGE, HITS, COLUMNS };

static const char *const column_names[COLUMNS] = {"pid",
                                                  "pt",
                                                  "eta",
                                                  "phi",
                                                  "isLong",
                                                  "fromBeautyDecay",
                                                  "fromCharmDecay",
                                                  "fromStrangeDecay",
                                                  "charge",
                                                  "hits"};

static int find_columns(const struct file *f, const json_t *description, size_t *ret_column)
{
    for (int c = 0; c < COLUMNS; c++) {
        size_t i, n = json_array_size(description);

        for (i = 0; i < n; i++) {
            const char *name = json_string_value(json_array_get(description, i));

            if (name && !strcmp(name, column_names[c]))
                break;
        }
        if (i == n)
            return import_fail(f->im, -EBADMSG,
                               "%s: montecarlo.description: there is no column \"%s\"", f->path,
                               column_names[c]);
        ret_column[c] = i;
    }
    return 0;
}

static int fail_particle(const struct file *f, size_t i, enum column c, const char *wanted)
{
    return import_fail(f->im, -EBADMSG, "%s: montecarlo.particles[%zu], %s: %s is wanted", f->path,
                       i, column_names[c], wanted);
}

/* Gives the particle's hits its number. */
static int claim_hits(const struct file *f, size_t i, const json_t *hits)
{
    struct generated *g = &f->im->g;
    size_t k;
    json_t *v;

    if (!json_is_array(hits))
        return fail_particle(f, i, HITS, "a list of hits");
    json_array_foreach(hits, k, v)
    {
        if (!is_index_below(v, g->n))
            return fail_particle(f, i, HITS, "the number of a hit");
        if (store_claim(g, (uint32_t)json_integer_value(v), g->n_particles) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int read_particle(const struct file *f, size_t i, const json_t *row, const size_t *column)
{
    struct store_particle p = {.vertex = GENERATOR_NONE};
    const json_t *v[COLUMNS];
    int r;

    for (int c = 0; c < COLUMNS; c++)
        v[c] = json_array_get(row, column[c]);
    for (int c = PID; c < HITS; c++)
        if (!is_number_within(v[c], c == PID ? INT32_MAX : MOMENTUM_MAX))
            return fail_particle(f, i, (enum column)c, "a number");
    p.pdg = (int)json_number_value(v[PID]);
    p.pt = json_number_value(v[PT]) * MEV;
    p.eta = json_number_value(v[ETA]);
    p.phi = json_number_value(v[PHI]);
    p.charge = (int)lround(json_number_value(v[CHARGE]));
    p.flags = (json_number_value(v[BEAUTY]) > 0 ? GENERATOR_FROM_BEAUTY : 0u) |
              (json_number_value(v[CHARM]) > 0 ? GENERATOR_FROM_CHARM : 0u) |
              (json_number_value(v[STRANGE]) > 0 ? GENERATOR_FROM_STRANGE : 0u) |
              (json_number_value(v[LONG]) > 0 ? GENERATOR_LONG : 0u);
    r = claim_hits(f, i, v[HITS]);
    if (r == 0)
        r = store_particle(&f->im->g, &p);
    if (r == 0)
        store_keep_particle(&f->im->g, false);
    return r == -ENOMEM ? import_fail(f->im, r, "%s: no memory", f->path) : r;
}

static int read_truth(const struct file *f, const json_t *truth)
{
    const json_t *particles = json_object_get(truth, "particles");
    size_t column[COLUMNS] = {0}, i;
    json_t *row;
    int r = find_columns(f, json_object_get(truth, "description"), column);

    if (r == 0 && !json_is_array(particles))
        r = fail(f, "montecarlo.particles", "a list");
    if (r < 0)
        return r;
    json_array_foreach(particles, i, row)
    {
        r = read_particle(f, i, row, column);
        if (r < 0)
            return r;
    }
    f->im->has_truth = f->im->has_particle_of = true;
    return 0;
}

int import_velopix(struct import *im, const char *path)
{
    const struct file f = {im, path};
    json_error_t error;
    json_t *event = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const json_t *truth = json_object_get(event, "montecarlo");
    int r;

    if (!event && error.line < 0)
        return import_fail(im, -EIO, "%s: cannot be read: %s", path, error.text);
    if (!event)
        return import_fail(im, -EBADMSG, "%s:%d: not JSON: %s", path, error.line, error.text);
    import_begin(im, TRG_HITS, 1, import_number(path));
    r = json_is_object(event) ? read_hits(&f, event) : fail(&f, "the file", "one JSON object");
    if (r == 0 && truth)
        r = read_truth(&f, truth);
    if (r == 0)
        r = import_emit(im);
    json_decref(event);
    return r;
}

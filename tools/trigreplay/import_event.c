/* SPDX-License-Identifier: Apache-2.0 */
/* import_event.c - what the importers of all formats share: an event, its problems, names of files.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen_bricks.h"
#include "gen_store.h"
#include "import.h"
#include "roifile.h"

void import_init(struct import *im)
{
    memset(im, 0, sizeof *im);
    generated_init(&im->g);
    im->preset = generator_find("velo");
    im->seed = 1;
    im->volume.edge = BRICKS_EDGE;
}

void import_fini(struct import *im)
{
    generated_fini(&im->g);
}

int import_fail(struct import *im, int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(im->problem.text, sizeof im->problem.text, format, args);
    va_end(args);
    return error;
}

/* ---------------------------------------------------------------- one event */

#define ETA_HALF 10.0f /* all that the daemon takes */
#define PHI_HALF 3.1415927f
#define Z_HALF   300.0f

void import_begin(struct import *im, uint32_t kind, uint32_t run, uint32_t l1id)
{
    store_begin(&im->g, kind);
    im->g.info = (struct trg_roi_info){.run = run,
                                       .l1id = l1id,
                                       .l1_bits = 1,
                                       .eta_half = ETA_HALF,
                                       .phi_half_rad = PHI_HALF,
                                       .z_min_mm = -Z_HALF,
                                       .z_max_mm = Z_HALF};
    im->has_truth = im->has_particle_of = im->has_perigee = false;
}

/* Takes out of the truth what the source did not tell. */
static void leave_out(const struct import *im, struct generated_message *m)
{
    if (!im->has_truth)
        m->roi.truth = NULL;
    if (!im->has_particle_of)
        m->truth.n_item_particle = m->truth.n_shared_item = m->truth.n_shared_particle = 0;
    if (!im->has_perigee)
        m->truth.n_particle_d0_mm = m->truth.n_particle_z0_mm = 0;
}

int import_emit(struct import *im)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    struct generated_message m;
    Trigd__V1__Roi *list = &m.roi;
    unsigned char *bytes;
    size_t n;
    int r = 0;

    generated_message(&im->g, &m);
    leave_out(im, &m);
    batch.n_rois = 1;
    batch.rois = &list;
    n = trigd__v1__roi_batch__get_packed_size(&batch);
    bytes = malloc(n);
    if (!bytes)
        return import_fail(im, -ENOMEM, "no memory for an event of %zu bytes", n);
    trigd__v1__roi_batch__pack(&batch, bytes);
    if (im->w)
        r = roifile_append(im->w, bytes, n, 1);
    free(bytes);
    if (r < 0)
        return import_fail(im, r, "cannot write: %s", strerror(-r));
    im->rois++;
    im->items += im->g.n;
    return 0;
}

/* ---------------------------------------------------------------- names of files */

const char *import_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), k = strlen(suffix);

    if (n >= k && !strcmp(path + n - k, suffix))
        return path + n - k;
    if (n >= k + 3 && !strcmp(path + n - 3, ".gz") && !strncmp(path + n - 3 - k, suffix, k))
        return path + n - 3 - k;
    return NULL;
}

int import_sibling(const char *path, const char *from, const char *to, char *ret, size_t room)
{
    const char *endings[] = {"", ".gz"}, *at = import_suffix(path, from);
    char text[4096];

    for (size_t i = 0; at && i < 2; i++) {
        int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - path), path, to, endings[i]);

        if (n < 0 || (size_t)n >= sizeof text || (size_t)n >= room)
            return -ENAMETOOLONG;
        if (access(text, R_OK) == 0) {
            memcpy(ret, text, (size_t)n + 1);
            return 0;
        }
    }
    return -ENOENT;
}

uint32_t import_run(const char *path)
{
    const char *name = strrchr(path, '/');
    unsigned long run;
    char *end;

    name = name ? name + 1 : path;
    run = strtoul(name, &end, 10);
    return end != name && *end == '_' && run <= UINT32_MAX ? (uint32_t)run : 1;
}

uint32_t import_number(const char *path)
{
    const char *name = strrchr(path, '/'), *end;
    unsigned long v;

    name = name ? name + 1 : path;
    end = name + strlen(name);
    while (end > name && (end[-1] < '0' || end[-1] > '9'))
        end--;
    while (end > name && end[-1] >= '0' && end[-1] <= '9')
        end--;
    v = strtoul(end, NULL, 10);
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes as bricks with halo, an RoI each: NIfTI-1, MetaImage, raw voxels.  Volumes are numbered
 * in the order of the files, which is the l1id. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gen_bricks.h"
#include "import.h"
#include "volume.h"

#define EDGE_MAX 65535u /* of a volume, what the columns of bricks can hold */

static void copy_row(const void *ctx, uint32_t x, uint32_t y, uint32_t z, uint32_t count,
                     uint8_t *out)
{
    vox_volume_row(ctx, x, y, z, count, out);
}

/* The window of 16 bits is the user's to say: no rule fits all. */
static int check(struct import *im, const char *path, const struct vox_volume *v)
{
    for (uint32_t a = 0; a < 3; a++)
        if (v->n[a] > EDGE_MAX)
            return import_fail(im, -EFBIG, "%s: %u x %u x %u voxels; at most %u along each axis",
                               path, v->n[0], v->n[1], v->n[2], EDGE_MAX);
    if (v->value_bytes == 2 && !im->volume.width)
        return import_fail(im, -EINVAL,
                           "%s: its voxels have 16 bits: --window LOW,WIDTH is wanted, and values "
                           "from LOW to LOW + WIDTH - 1 become 0 to 255",
                           path);
    return 0;
}

static int cut(struct import *im, const struct vox_volume *v)
{
    const struct bricks_volume bricks = {
        .n = {v->n[0], v->n[1], v->n[2]},
        .type = v->value_bytes == 1 ? 0
                : v->is_signed      ? 2
                                    : 1,
        .low = v->value_bytes == 1 ? 0 : im->volume.low,
        .width = v->value_bytes == 1 ? 256 : im->volume.width,
        .edge = im->volume.edge,
        .row = copy_row,
        .ctx = v,
    };
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < bricks_count(&bricks); i++) {
        r = bricks_cut(&bricks, i, im->volume.n, &im->g);
        if (r == 0)
            r = import_emit(im);
        else
            import_fail(im, r, "no memory for a brick of %u^3 voxels", im->volume.edge);
    }
    im->volume.n++;
    return r;
}

static int read_volume(struct import *im, const char *path, const struct vox_volume *raw)
{
    struct vox_volume v;
    int r = vox_volume_open(path, raw, &v, im->problem.text, sizeof im->problem.text);

    if (r < 0)
        return r;
    r = check(im, path, &v);
    if (r == 0)
        r = cut(im, &v);
    vox_volume_close(&v);
    return r;
}

int import_nifti(struct import *im, const char *path)
{
    return read_volume(im, path, NULL);
}

int import_metaimage(struct import *im, const char *path)
{
    if (!import_suffix(path, ".mha") && !import_suffix(path, ".mhd"))
        return import_fail(im, -EINVAL, "%s: the name of a MetaImage ends with .mha or .mhd", path);
    return read_volume(im, path, NULL);
}

int import_raw(struct import *im, const char *path)
{
    const struct import_volume *o = &im->volume;
    const struct vox_volume raw = {.n = {o->size[0], o->size[1], o->size[2]},
                                   .value_bytes = o->type ? 2 : 1,
                                   .is_signed = o->type == 2};

    if (!o->size[0])
        return import_fail(im, -EINVAL, "%s: --size X,Y,Z is wanted for raw voxels", path);
    return read_volume(im, path, &raw);
}

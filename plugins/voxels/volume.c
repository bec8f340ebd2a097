/* SPDX-License-Identifier: Apache-2.0 */
#include "volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "metaimage.h"

/* NIfTI-1, nifti1.h: bytes of the header's members. */
#define HEADER_BYTES 348u
#define AT_DIM       40u /* int16[8]: number of dimensions, then their sizes */
#define AT_DATATYPE  70u
#define AT_OFFSET    108u /* float */
#define AT_MAGIC     344u

enum datatype { UINT8 = 2, INT16 = 4, UINT16 = 512 };

#define UNPACKED_MAX ((size_t)8 << 30)

static int refuse(char *why, size_t why_bytes, const char *sentence)
{
    snprintf(why, why_bytes, "%s", sentence);
    return -EINVAL;
}

/* ---------------------------------------------------------------- the header */

static uint16_t short_at(const unsigned char *p, bool swap)
{
    const unsigned low = p[swap ? 1 : 0], high = p[swap ? 0 : 1];

    return (uint16_t)(low | high << 8);
}

static float float_at(const unsigned char *p, bool swap)
{
    unsigned char bytes[4];
    float x;

    for (int i = 0; i < 4; i++)
        bytes[i] = p[swap ? 3 - i : i];
    memcpy(&x, bytes, sizeof x);
    return x;
}

static int read_sizes(const unsigned char *dim, struct vox_volume *v, char *why, size_t why_bytes)
{
    const uint16_t n_dims = short_at(dim, v->is_swapped);

    if (n_dims < 3 || n_dims > 7)
        return refuse(why, why_bytes, "it has not three dimensions");
    for (uint32_t a = 1; a <= n_dims; a++) {
        const int16_t size = (int16_t)short_at(dim + 2 * (size_t)a, v->is_swapped);

        if (size < 1)
            return refuse(why, why_bytes, "one of its dimensions is not positive");
        if (a > 3 && size > 1)
            return refuse(why, why_bytes, "it holds more than one volume");
        if (a <= 3)
            v->n[a - 1] = (uint32_t)size;
    }
    return 0;
}

/* What the first 348 bytes of a NIfTI-1 file say; `ret_offset`: where the voxels begin.  -EINVAL
 * with a sentence in `why`: not NIfTI-1, two files, not three dimensions, or voxels other than
 * uint8, int16 and uint16.  Fills n, value_bytes, is_signed and is_swapped. */
static int read_nifti_header(const unsigned char *bytes, size_t n_bytes,
                             struct vox_volume *ret_volume, size_t *ret_offset, char *why,
                             size_t why_bytes)
{
    struct vox_volume v = {0};
    float offset;

    if (n_bytes < HEADER_BYTES)
        return refuse(why, why_bytes, "it is shorter than a NIfTI-1 header, 348 bytes");
    if (memcmp(bytes, "\0\0\1\x5c", 4) == 0)
        v.is_swapped = true;
    else if (memcmp(bytes, "\x5c\1\0\0", 4) != 0)
        return refuse(why, why_bytes, "it is not NIfTI-1: it does not begin with 348");
    if (memcmp(bytes + AT_MAGIC, "ni1", 4) == 0)
        return refuse(why, why_bytes,
                      "its voxels are in another file (.img); a single .nii is allowed");
    if (memcmp(bytes + AT_MAGIC, "n+1", 4) != 0)
        return refuse(why, why_bytes, "it is not NIfTI-1: byte 344 is not n+1");
    if (read_sizes(bytes + AT_DIM, &v, why, why_bytes) < 0)
        return -EINVAL;
    switch (short_at(bytes + AT_DATATYPE, v.is_swapped)) {
    case UINT8:
        v.value_bytes = 1;
        break;
    case INT16:
    case UINT16:
        v.value_bytes = 2;
        v.is_signed = short_at(bytes + AT_DATATYPE, v.is_swapped) == INT16;
        break;
    default:
        return refuse(why, why_bytes, "its datatype is not uint8 (2), int16 (4) or uint16 (512)");
    }
    offset = float_at(bytes + AT_OFFSET, v.is_swapped);
    if (!(offset >= (float)HEADER_BYTES && offset <= 16777216.0f))
        return refuse(why, why_bytes, "its vox_offset is not within 348 .. 16777216");
    *ret_volume = v;
    *ret_offset = (size_t)offset;
    return 0;
}

/* ---------------------------------------------------------------- files */

static int map_file(const char *path, struct vox_volume *v)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    int r = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0) {
        r = -errno;
    } else if (st.st_size > 0) {
        v->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (v->map == MAP_FAILED) {
            v->map = NULL;
            r = -errno;
        } else {
            v->map_bytes = (size_t)st.st_size;
            v->is_mapped = true;
        }
    }
    close(fd);
    return r;
}

/* Everything in a gzip file, in memory that doubles. */
static int unpack_file(const char *path, struct vox_volume *v)
{
    gzFile f = gzopen(path, "rb");
    size_t room = (size_t)1 << 20;
    int got = 1, r = 0;

    if (!f)
        return errno ? -errno : -ENOMEM;
    while (r == 0 && got > 0) {
        unsigned char *more = v->map_bytes < room && v->map ? v->map : realloc(v->map, room *= 2);

        if (!more || room > UNPACKED_MAX) {
            free(more ? more : v->map);
            v->map = NULL;
            r = -ENOMEM;
            break;
        }
        v->map = more;
        got = gzread(f, more + v->map_bytes,
                     (unsigned)(room - v->map_bytes > 1u << 30 ? 1u << 30 : room - v->map_bytes));
        r = got < 0 ? -EINVAL : 0;
        v->map_bytes += got > 0 ? (size_t)got : 0;
    }
    if (gzclose_r(f) != Z_OK && r == 0)
        r = -EINVAL; /* it ends in the middle */
    return r;
}

static bool has_ending(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);

    return n > k && !strcmp(path + n - k, ending);
}

static int load(const char *path, struct vox_volume *v, char *why, size_t why_bytes)
{
    const int r = has_ending(path, ".gz") ? unpack_file(path, v) : map_file(path, v);

    if (r < 0)
        snprintf(why, why_bytes, "%s", r == -EINVAL ? "it is not whole gzip" : strerror(-r));
    return r;
}

/* Opens the file of voxels that a MetaImage header names, in its folder, instead of the header's.
 */
static int load_beside(const char *path, const char *name, struct vox_volume *v, char *why,
                       size_t why_bytes)
{
    const char *slash = strrchr(path, '/');
    char beside[4096];

    vox_volume_close(v);
    if ((size_t)snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path,
                         name) >= sizeof beside)
        return refuse(why, why_bytes, "the name of its ElementDataFile is too long");
    return load(beside, v, why, why_bytes);
}

/* What the header says of the voxels, and where they begin in what is loaded then. */
static int read_shape(const char *path, const struct vox_volume *raw, struct vox_volume *v,
                      struct vox_volume *ret_shape, size_t *ret_offset, char *why, size_t why_bytes)
{
    struct metaimage m;
    int r;

    *ret_offset = 0;
    if (raw) {
        *ret_shape = *raw;
        return 0;
    }
    if (!has_ending(path, ".mha") && !has_ending(path, ".mhd"))
        return read_nifti_header(v->map, v->map_bytes, ret_shape, ret_offset, why, why_bytes);
    r = metaimage_parse(v->map, v->map_bytes, &m, why, why_bytes);
    if (r == 0 && m.file[0])
        r = load_beside(path, m.file, v, why, why_bytes);
    *ret_shape = m.shape;
    *ret_offset = m.file[0] ? 0 : m.offset;
    return r;
}

/* The volume's shape, and that the file has room for it. */
static int find_values(const char *path, const struct vox_volume *raw, struct vox_volume *v,
                       char *why, size_t why_bytes)
{
    struct vox_volume shape = {.value_bytes = 1};
    size_t offset, bytes;
    int r = read_shape(path, raw, v, &shape, &offset, why, why_bytes);

    if (r < 0)
        return r;
    bytes = shape.value_bytes;
    for (uint32_t a = 0; a < 3; a++)
        if (__builtin_mul_overflow(bytes, (size_t)shape.n[a], &bytes))
            return refuse(why, why_bytes, "its size does not fit in 64 bits");
    if (v->map_bytes < offset || v->map_bytes - offset < bytes) {
        snprintf(why, why_bytes,
                 "it is truncated: %u x %u x %u voxels need %zu bytes behind byte %zu, "
                 "and it has %zu in all",
                 shape.n[0], shape.n[1], shape.n[2], bytes, offset, v->map_bytes);
        return -EINVAL;
    }
    shape.map = v->map;
    shape.map_bytes = v->map_bytes;
    shape.is_mapped = v->is_mapped;
    shape.values = (const unsigned char *)v->map + offset;
    *v = shape;
    return 0;
}

int vox_volume_open(const char *path, const struct vox_volume *raw, struct vox_volume *ret_volume,
                    char *why, size_t why_bytes)
{
    struct vox_volume v = {0};
    char sentence[400] = "";
    int r = load(path, &v, sentence, sizeof sentence);

    if (r == 0)
        r = find_values(path, raw, &v, sentence, sizeof sentence);
    if (r < 0) {
        snprintf(why, why_bytes, "%s: %s", path, sentence);
        vox_volume_close(&v);
    } else {
        *ret_volume = v;
    }
    return r;
}

void vox_volume_close(struct vox_volume *v)
{
    if (v->is_mapped)
        munmap(v->map, v->map_bytes);
    else
        free(v->map);
    memset(v, 0, sizeof *v);
}

/* ---------------------------------------------------------------- planes */

size_t vox_plane_bytes(const struct vox_volume *v)
{
    return (size_t)v->n[0] * v->n[1] * v->value_bytes;
}

void vox_volume_bytes(const struct vox_volume *v, size_t at, size_t bytes, unsigned char *out)
{
    memcpy(out, v->values + at, bytes);
    for (size_t i = 0; v->is_swapped && v->value_bytes == 2 && i < bytes; i += 2) {
        const unsigned char high = out[i];

        out[i] = out[i + 1];
        out[i + 1] = high;
    }
}

void vox_volume_row(const struct vox_volume *v, uint32_t x, uint32_t y, uint32_t z, uint32_t count,
                    unsigned char *out)
{
    const size_t row = (size_t)v->n[0] * v->value_bytes;

    vox_volume_bytes(v, vox_plane_bytes(v) * z + row * y + (size_t)x * v->value_bytes,
                     (size_t)count * v->value_bytes, out);
}

void vox_volume_planes(const struct vox_volume *v, uint32_t z, uint32_t planes, unsigned char *out)
{
    vox_volume_bytes(v, vox_plane_bytes(v) * z, vox_plane_bytes(v) * planes, out);
}

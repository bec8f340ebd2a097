/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "declared.h"
#include "roifile.h"

const struct import_format import_formats[] = {
    {"velopix", "LHCb vertex detector, JSON files with x, y, z and module_prefix_sum",
     import_velopix, ".json"},
    {"lhcb-csv", "LHCb vertex detector, folders of NAME-hits.csv, -particles.csv and -pvs.csv",
     import_lhcb, "-hits.csv"},
    {"lhcb-banks", "raw banks of LHCb's vertex detector, NAME.bin, with NAME-pvs.csv", import_banks,
     ".bin"},
    {"pixels", "pixels with charge, RUN_EVENT-pixels.csv: module, column, row, charge",
     import_pixels, "-pixels.csv"},
    {"trackml", "TrackML, folders of NAME-hits.csv, -truth.csv and -particles.csv", import_trackml,
     "-hits.csv"},
    {"spacepoints", "space points as ACTS writes them, NAME-spacepoint.csv and -measurements.csv",
     import_spacepoints, "-spacepoint.csv"},
    {"tracks", "tracks of any finder, NAME-tracks.csv, with NAME-vertices.csv", import_tracks,
     "-tracks.csv"},
    {"particles", "particles of simulated collisions, sent through the detector of --preset",
     import_particles, NULL},
    {"nifti", "volumes in NIfTI-1, NAME.nii or .nii.gz, as bricks with halo", import_nifti, ".nii"},
    {"metaimage", "volumes in MetaImage, NAME.mha or .mhd", import_metaimage, NULL},
    {"raw", "volumes of raw voxels, x fastest, with --size and --voxel", import_raw, NULL},
    {0},
};

const struct import_format *import_find(const char *name)
{
    for (const struct import_format *f = import_formats; f->name; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    uint32_t n, room;
    char **list;
};

static int add_name(struct names *all, const char *folder, const char *name)
{
    char text[4096];

    if (array_grow(&all->list, all->n, &all->room, sizeof *all->list) < 0)
        return -ENOMEM;
    if ((size_t)snprintf(text, sizeof text, "%s/%s", folder, name) >= sizeof text)
        return -ENAMETOOLONG;
    all->list[all->n] = strdup(text);
    return all->list[all->n++] ? 0 : -ENOMEM;
}

static void free_names(struct names *all)
{
    for (uint32_t i = 0; i < all->n; i++)
        free(all->list[i]);
    free(all->list);
}

/* Files of a folder that end with the suffix, in order. */
static int list_folder(const char *path, const char *suffix, struct names *all)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int r = 0;

    if (!folder)
        return -errno;
    while (r == 0 && (entry = readdir(folder)) != NULL)
        if (import_suffix(entry->d_name, suffix))
            r = add_name(all, path, entry->d_name);
    closedir(folder);
    if (r == 0 && all->n > 1)
        qsort(all->list, all->n, sizeof *all->list, compare_names);
    return r;
}

static int read_folder(struct import *im, const struct import_format *format, const char *path)
{
    struct names all = {0};
    int r = list_folder(path, format->suffix, &all);

    if (r < 0)
        r = import_fail(im, r, "%s: cannot be listed: %s", path, strerror(-r));
    else if (!all.n)
        r = import_fail(im, -ENOENT, "%s: there is no file *%s in this folder", path,
                        format->suffix);
    for (uint32_t i = 0; r == 0 && i < all.n; i++)
        r = format->read(im, all.list[i]);
    free_names(&all);
    return r;
}

static int read_path(struct import *im, const struct import_format *format, const char *path)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return import_fail(im, -errno, "%s: cannot be read: %s", path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return format->read(im, path);
    if (!format->suffix)
        return import_fail(im, -EISDIR, "%s: files are wanted, not a folder", path);
    return read_folder(im, format, path);
}

static bool is_volume(const struct import_format *f)
{
    return f->read == import_nifti || f->read == import_metaimage || f->read == import_raw;
}

/* The declared collections that RoIs will hold, 1 << kind each. */
static uint32_t kinds_of(const struct import *im, const struct import_format *format)
{
    return generator_declared(format->read == import_banks       ? generator_banks_kind()
                              : format->read == import_pixels    ? generator_pixels_kind()
                              : format->read == import_particles ? generator_kind(im->preset)
                              : is_volume(format)                ? generator_brick_kind()
                                                                 : TRG_HITS);
}

int import_files(struct import *im, const struct import_format *format, char *const *paths,
                 uint32_t n, const char *out)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    bool is_simulated = format->read == import_particles;
    struct declared declared;
    char creator[64];
    int r, finished;

    snprintf(creator, sizeof creator, "trigreplay import %s", format->name);
    header.version = 1;
    header.creator = creator;
    if (is_simulated) {
        header.preset = (char *)im->preset->name;
        header.seed = im->seed;
    }
    header.created_unix_s = (uint64_t)time(NULL);
    declared_fill(kinds_of(im, format), &declared);
    header.n_collections = declared.n;
    header.collections = declared.list;
    r = roifile_create(out, &header, &im->w);
    if (r < 0)
        return import_fail(im, r, "%s: cannot be written: %s", out, strerror(-r));
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = read_path(im, format, paths[i]);
    finished = roifile_finish(im->w);
    im->w = NULL;
    if (r == 0 && finished < 0)
        r = import_fail(im, finished, "%s: cannot be written: %s", out, strerror(-finished));
    if (r < 0)
        unlink(out);
    return r;
}

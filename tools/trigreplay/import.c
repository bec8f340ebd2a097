/* SPDX-License-Identifier: Apache-2.0 */
#include "import.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gen_store.h"
#include "roifile.h"

const struct import_format import_formats[] = {
    {"velopix", "LHCb vertex detector, JSON files with x, y, z and module_prefix_sum",
     import_velopix, ".json"},
    {"lhcb-csv", "LHCb vertex detector, folders of NAME-hits.csv, -particles.csv and -pvs.csv",
     import_lhcb, "-hits.csv"},
    {"trackml", "TrackML, folders of NAME-hits.csv, -truth.csv and -particles.csv", import_trackml,
     "-hits.csv"},
    {"spacepoints", "space points as ACTS writes them, NAME-spacepoint.csv and -measurements.csv",
     import_spacepoints, "-spacepoint.csv"},
    {"particles", "particles of simulated collisions, sent through the detector of --preset",
     import_particles, NULL},
    {0},
};

const struct import_format *import_find(const char *name)
{
    for (const struct import_format *f = import_formats; f->name; f++)
        if (!strcmp(f->name, name))
            return f;
    return NULL;
}

void import_init(struct import *im)
{
    memset(im, 0, sizeof *im);
    generated_init(&im->g);
    im->preset = generator_find("velo");
    im->seed = 1;
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

/* Where `path` ends with the suffix, perhaps before a .gz; NULL: it does not. */
static const char *find_suffix(const char *path, const char *suffix)
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
    const char *endings[] = {"", ".gz"}, *at = find_suffix(path, from);
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

/* ---------------------------------------------------------------- all files */

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

    if (all->n == all->room) {
        uint32_t room = all->room ? 2 * all->room : 64;
        char **more = realloc(all->list, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        all->list = more;
        all->room = room;
    }
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
        if (find_suffix(entry->d_name, suffix))
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

int import_files(struct import *im, const struct import_format *format, char *const *paths,
                 uint32_t n, const char *out)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    bool is_simulated = format->read == import_particles;
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

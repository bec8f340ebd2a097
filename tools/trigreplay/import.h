/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - events of others as RoI files: LHCb's vertex detector, pixels with charge, TrackML,
 * ACTS, tracks, lists of particles, which the simulated detectors turn into hits, and volumes,
 * which are cut to bricks. docs/replay.md tells each format.
 */
#ifndef TRIGD_IMPORT_H
#define TRIGD_IMPORT_H
#include <stdbool.h>
#include <stdint.h>

#include "generator.h"

struct roifile_writer;

/* Why something cannot be imported: one sentence that names file and line. */
struct import_problem {
    char text[512];
};

/* How volumes are read and cut. */
struct import_volume {
    uint32_t size[3]; /* of raw voxels; 0: not given */
    uint32_t type;    /* of raw voxels, as the column type of collections/bricks.yaml */
    int32_t low;      /* the window of 16 bits, [low, low + width) ... */
    uint32_t width;   /* ... 0: not given */
    uint32_t edge;    /* of a brick */
    uint32_t n;       /* volumes so far */
};

/* An import going on: readers put one event after the other into `g` and emit it. */
struct import {
    struct generated g;
    bool has_truth;                        /* of any kind */
    bool has_particle_of;                  /* which particle made each item */
    bool has_perigee;                      /* d0 and z0 of the particles */
    const struct generator_preset *preset; /* whose detector particles go through */
    uint64_t seed;                         /* of what that detector measures */
    struct import_volume volume;
    struct roifile_writer *w; /* NULL: events are only checked */
    uint64_t rois, items;
    struct import_problem problem;
};

/* A format.  `read` reads one file and emits its events; -EBADMSG and the like with a sentence in
 * im->problem.  `suffix`: of the files that a folder is searched for; NULL: folders are not
 * taken. */
struct import_format {
    const char *name, *help;
    int (*read)(struct import *im, const char *path);
    const char *suffix;
};

/* The formats; the table ends with a NULL name. */
extern const struct import_format import_formats[];
const struct import_format *import_find(const char *name); /* NULL: there is none */

void import_init(struct import *im);
void import_fini(struct import *im);

/* Imports `n` files or folders into a new RoI file, in that order; a folder's files in the order of
 * their names.  0, or a negative errno with a sentence in im->problem, and no file is left. */
int import_files(struct import *im, const struct import_format *format, char *const *paths,
                 uint32_t n, const char *out);

/* ---------------------------------------------------------------- for the readers */

int import_velopix(struct import *im, const char *path);
int import_lhcb(struct import *im, const char *path);
int import_banks(struct import *im, const char *path);
int import_pixels(struct import *im, const char *path);
/* The collisions of an event of LHCb's, "RUN_EVENT-pvs.csv". */
int import_lhcb_pvs(struct import *im, const char *path);
int import_trackml(struct import *im, const char *path);
int import_spacepoints(struct import *im, const char *path);
int import_tracks(struct import *im, const char *path);
int import_particles(struct import *im, const char *path);
int import_nifti(struct import *im, const char *path);
int import_metaimage(struct import *im, const char *path);
int import_raw(struct import *im, const char *path);

/* Notes the sentence and returns `error`. */
int import_fail(struct import *im, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Begins an event of that kind: empty, with a window that covers all. */
void import_begin(struct import *im, uint32_t kind, uint32_t run, uint32_t l1id);
/* Writes the event. */
int import_emit(struct import *im);

/* The path of a file that belongs to `path`: its ending `from` (before a .gz) becomes `to`, with or
 * without .gz, whichever is there.  -ENOENT: none is; -ENAMETOOLONG. */
int import_sibling(const char *path, const char *from, const char *to, char *ret, size_t room);
/* Where `path` ends with the suffix, perhaps before a .gz; NULL: it does not. */
const char *import_suffix(const char *path, const char *suffix);
/* The number at the beginning of a file's name, "6718861_6001-hits.csv" -> 6718861; others: 1. */
uint32_t import_run(const char *path);
/* The last number in a file's name, "event000000012-hits.csv" -> 12; 0: none. */
uint32_t import_number(const char *path);
#endif

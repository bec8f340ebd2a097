/* SPDX-License-Identifier: Apache-2.0 */
/* imports.h - what tests of importing share: a folder of files, and the RoI file made of them. */
#ifndef IMPORTS_H
#define IMPORTS_H
#include "import.h"
#include "trigd.pb-c.h"

#define FILES_MAX 4
#define ROIS_MAX  64

struct place { /* a folder of files, and what was read of the RoI file made of them */
    char folder[96], out[160];
    uint32_t n_files;
    char *file[FILES_MAX];
    uint32_t n;
    Trigd__V1__RoiBatch *roi[ROIS_MAX]; /* of one RoI each */
    struct import im;
};

/* Setup and teardown of a test; *state is the place. */
int make_place(void **state);
int clear_place(void **state);
/* Deletes the files, forgets the RoIs. */
void forget(struct place *p);

/* A file of the folder; gzipped if its name says so. */
void put(struct place *p, const char *name, const char *text);
int import_one(struct place *p, const char *format, char *path);
/* Imports the path, which must work, and reads all RoIs. */
void imports(struct place *p, const char *format, char *path);
/* Importing fails with this sentence, and leaves no file. */
void refuses(struct place *p, const char *format, char *path, const char *sentence);

const Trigd__V1__Roi *roi(const struct place *p, uint32_t i);
unsigned int layer_of(const Trigd__V1__Roi *r, size_t hit);
void assert_near(double value, double want, double tolerance);

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, clear_place)
#endif

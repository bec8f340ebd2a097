/* SPDX-License-Identifier: Apache-2.0 */
/* stream_titles.h - the part of a file's header that a menu generation gives: names of chains,
 * streams, steps and values, declarations of collections.  Kept until the daemon ends, because RoIs
 * wait to be written when their menu is gone. */
#ifndef TRIGD_STREAM_TITLES_H
#define TRIGD_STREAM_TITLES_H
#include "menu/menu.h"
#include "trigd.pb-c.h"

struct stream_titles {
    struct stream_titles *next; /* the caller's */
    uint32_t generation;
    uint64_t menu_key;
    size_t bytes;
    unsigned char packed[]; /* a FileHeader */
};

/* -ENOMEM. */
int stream_titles_new(const struct menu *menu, uint32_t generation,
                      struct stream_titles **ret_titles);
/* The header, to be completed and freed by the caller; NULL: no memory. */
Trigd__V1__FileHeader *stream_titles_header(const struct stream_titles *t);
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* declared.h - declarations of collections as messages: in Hello, Welcome and the headers of files.
 */
#ifndef TRIGD_DECLARED_H
#define TRIGD_DECLARED_H
#include <stddef.h>
#include <stdint.h>

#include "kinds.h"
#include "trigd.pb-c.h"

struct declared { /* messages of some kinds; they point to the declarations */
    size_t n;
    Trigd__V1__Collection collection[KINDS_MAX], *list[KINDS_MAX];
    Trigd__V1__Column column[KINDS_MAX][TRG_COLUMNS_MAX], *columns[KINDS_MAX][TRG_COLUMNS_MAX];
};

/* Fills the messages for the kinds of a set (1 << kind each). */
void declared_fill(uint32_t kinds, struct declared *ret_declared);
/* The kind of a declaration that came as a message; see kind_add. */
int declared_add(const Trigd__V1__Collection *m, uint32_t *ret_kind, char *why, size_t why_bytes);
#endif

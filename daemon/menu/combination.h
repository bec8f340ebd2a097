/* SPDX-License-Identifier: Apache-2.0 */
/* combination.h - chains combined by and, or, not: "HLT_2jets and not (HLT_veto or HLT_mu)".
 *
 * Whether a chain passes an event may be uncertain: it met a limit and may count as passed or not
 * (both), or it lacks data and may count as neither.  So a value has two bits, "can count as
 * passed" and "can count as failed", as in Belnap's four-valued logic (A useful four-valued logic,
 * 1977).  `and`, `or` and `not` never clear a bit of the result when one more bit of an operand is
 * set: with the least and the most that operands can become, the result has the same.
 */
#ifndef TRIGD_COMBINATION_H
#define TRIGD_COMBINATION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMBINATION_OPS_MAX 64u /* chains and operators of one */

/* Planes of a value: as it stands, and as it can still become; each also with cuts that decide on
 * truncated data. */
enum combination_plane {
    COMBINATION_NOW,
    COMBINATION_MAY,
    COMBINATION_NOW_CUT,
    COMBINATION_MAY_CUT,
    COMBINATION_PLANES
};
/* A bit for each plane in either half: it can count as passed; it can count as failed. */
typedef uint8_t combination_value;
#define COMBINATION_PASSED(plane) (1u << (plane))
#define COMBINATION_FAILED(plane) (1u << ((plane) + COMBINATION_PLANES))
#define COMBINATION_NEVER         0xf0u /* failed in all planes */

enum { COMBINATION_AND = 0x8000, COMBINATION_OR, COMBINATION_NOT };

struct combination { /* operands before their operator: numbers of chains, or COMBINATION_... */
    uint32_t n;
    uint16_t op[COMBINATION_OPS_MAX];
};

struct combination_names {
    int32_t (*find)(const void *ctx, const char *name); /* number of a chain; -1: none */
    const void *ctx;
};
/* Reads an expression: names, and, or, not, parentheses; `not` binds before `and`, that before
 * `or`.  -EINVAL with what is wrong and where in `why`. */
int combination_parse(const char *text, const struct combination_names *names,
                      struct combination *ret, char *why, size_t bytes);
/* Whether a word has a meaning of its own: no chain may have that name. */
bool combination_is_word(const char *name);
/* Its value, from those of the chains. */
combination_value combination_of(const struct combination *c, const combination_value *chains);
#endif

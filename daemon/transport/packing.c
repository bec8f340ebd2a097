/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/packing.h"

#define VARINT  5u  /* most bytes of a number of 32 bits, and of a length */
#define MESSAGE 32u /* around the decisions */
/* What a decision takes without its lists: 11 numbers with tags of two bytes at most, the token,
 * and a tag and a length for itself and three lists. */
#define DECISION (11 * (2 + VARINT) + 12 + 4 * (1 + VARINT))
#define RESULT   (3 * (1 + VARINT) + VARINT) /* without its values */

static size_t decision_bound(const Trigd__V1__Decision *d)
{
    size_t n = DECISION + VARINT * (d->n_chains_raw + d->n_chains + d->n_streams);

    for (size_t i = 0; i < d->n_results; i++)
        n += RESULT + sizeof(float) * d->results[i]->n_values;
    return n;
}

size_t packing_bound(const Trigd__V1__FromDaemon *m)
{
    size_t n = MESSAGE;

    if (m->body_case != TRIGD__V1__FROM_DAEMON__BODY_DECISIONS)
        return trigd__v1__from_daemon__get_packed_size(m);
    for (size_t i = 0; i < m->decisions->n_decisions; i++)
        n += decision_bound(m->decisions->decisions[i]);
    return n;
}

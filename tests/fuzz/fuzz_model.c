/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the text of a voxel model, as they are and with the hash of their lines behind: a
 * refusal has a sentence; a model that was taken keeps its bounds and collapses to tables, or does
 * not with a sentence. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model.h"
#include "tables.h"
#include "want.h"

#define TEXT 65536u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* FNV-1a of the words of all lines, with one space between them and a newline behind each line. */
static uint64_t hash_of(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t words = 0;
    int was_space = 1, is_comment = 0;

#define ADD(byte) (hash = (hash ^ (unsigned char)(byte)) * UINT64_C(1099511628211))
    for (size_t i = 0; i <= n; i++) {
        const char c = i < n ? text[i] : '\n';

        if (c == '\n') {
            if (words)
                ADD('\n');
            words = 0;
            was_space = 1;
            is_comment = 0;
        } else if (is_comment || c == '#') {
            is_comment = 1;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            was_space = 1;
        } else {
            if (was_space && words)
                ADD(' ');
            words += (size_t)was_space;
            was_space = 0;
            ADD(c);
        }
    }
#undef ADD
    return hash;
}

static void collapse(const struct vox_model *m)
{
    struct vox_tables t = {0};
    char why[256] = "";

    WANT(vox_model_weights(m) <= vox_model_weights_max(m));
    for (uint32_t i = 0; i < m->n_stumps; i++)
        WANT((unsigned)m->stumps[i].feature < VOX_FEATURES);
    if (vox_tables_make(m, &t, why, sizeof why) < 0) {
        WANT(*why);
        return;
    }
    WANT(t.n_words <= VOX_TABLES_MAX);
    vox_tables_fini(&t);
}

/* Whether it was taken. */
static int offer(const char *text, size_t n)
{
    struct vox_model m;
    char why[256] = "";
    const int r = vox_model_parse(text, n, &m, why, sizeof why);

    if (r < 0) {
        WANT(*why);
        return 0;
    }
    collapse(&m);
    vox_model_fini(&m);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char text[TEXT + 32];

    if (n > TEXT)
        return 0;
    memcpy(text, data, n);
    if (!offer(text, n))
        offer(text,
              n + (size_t)snprintf(text + n, 32, "\nhash %016" PRIx64 "\n", hash_of(text, n)));
    return 0;
}

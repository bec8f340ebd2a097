/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT     "trigd-voxel-model 1"
#define WORDS_MAX  6u
#define LINE_MAX_  256u
#define MODEL_MAX_ ((size_t)16 << 20) /* bytes of a file */
#define WEIGHTS    ((int64_t)1 << 29) /* larger weights of all stumps and the bias, added up */

static const char *const features[VOX_FEATURES] = {"x", "y", "z", "v", "dx", "dy", "dz", "s"};

struct parser {
    struct vox_model *m;
    uint32_t line, room;
    int64_t weights;
    uint64_t hash; /* of the lines so far */
    bool began, ended;
    char *why;
    size_t why_bytes;
};

static int refuse(struct parser *p, const char *what, const char *word)
{
    snprintf(p->why, p->why_bytes, "line %" PRIu32 ": '%s' %s", p->line, word, what);
    return -EINVAL;
}

/* ---------------------------------------------------------------- words */

static int parse_integer(struct parser *p, const char *word, int32_t *ret_value)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(word, &end, 10);
    if (errno || end == word || *end || value < INT32_MIN || value > INT32_MAX)
        return refuse(p, "is not an integer of 32 bits", word);
    *ret_value = (int32_t)value;
    return 0;
}

static int64_t larger(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return a > b ? a : b;
}

int64_t vox_model_weights(const struct vox_model *m)
{
    int64_t sum = larger(m->bias, 0);

    for (uint32_t i = 0; i < m->n_stumps; i++)
        sum += larger(m->stumps[i].left, m->stumps[i].right);
    return sum;
}

int64_t vox_model_weights_max(const struct vox_model *m)
{
    return WEIGHTS + (int64_t)m->n_stumps + 1; /* rounding of each weight may add a half */
}

/* The sums of a model fit 32 bits whatever the voxel is. */
static int add_weight(struct parser *p, int64_t weight, const char *word)
{
    p->weights += weight;
    return p->weights > vox_model_weights_max(p->m)
               ? refuse(p, "brings the weights above 2^29", word)
               : 0;
}

static int parse_stump(struct parser *p, char **word, uint32_t n)
{
    struct vox_model *m = p->m;
    struct vox_stump s = {0};
    uint32_t f = 0;
    int r;

    if (n != 5)
        return refuse(p, "is followed by FEATURE AT_MOST LEFT RIGHT", word[0]);
    while (f < VOX_FEATURES && strcmp(word[1], features[f]) != 0)
        f++;
    if (f == VOX_FEATURES)
        return refuse(p, "is no feature; there are x y z v dx dy dz s", word[1]);
    s.feature = (enum vox_feature)f;
    r = parse_integer(p, word[2], &s.at_most);
    if (r == 0)
        r = parse_integer(p, word[3], &s.left);
    if (r == 0)
        r = parse_integer(p, word[4], &s.right);
    if (r == 0)
        r = add_weight(p, larger(s.left, s.right), word[0]);
    if (r < 0)
        return r;
    if (m->n_stumps == p->room) {
        const uint32_t room = p->room ? 2 * p->room : 64;
        struct vox_stump *stumps = realloc(m->stumps, room * sizeof *stumps);

        if (!stumps)
            return -ENOMEM;
        m->stumps = stumps;
        p->room = room;
    }
    m->stumps[m->n_stumps++] = s;
    return 0;
}

static int parse_hash(struct parser *p, const char *word)
{
    char actual[17];

    snprintf(actual, sizeof actual, "%016" PRIx64, p->hash);
    if (strcmp(word, actual) != 0)
        return refuse(p, "is not the hash of the lines above", word);
    p->m->hash = p->hash;
    p->ended = true;
    return 0;
}

static int parse_words(struct parser *p, char **word, uint32_t n)
{
    int r;

    if (p->ended)
        return refuse(p, "comes after the hash", word[0]);
    if (!strcmp(word[0], "stump"))
        return parse_stump(p, word, n);
    if (n != 2)
        return refuse(p, "begins no line that is known: name, bias, stump and hash are", word[0]);
    if (!strcmp(word[0], "name")) {
        if (strlen(word[1]) >= sizeof p->m->name)
            return refuse(p, "is a longer name than 63 bytes", word[1]);
        snprintf(p->m->name, sizeof p->m->name, "%s", word[1]);
        return 0;
    }
    if (!strcmp(word[0], "bias")) {
        r = parse_integer(p, word[1], &p->m->bias);
        return r < 0 ? r : add_weight(p, larger(p->m->bias, 0), word[0]);
    }
    if (!strcmp(word[0], "hash"))
        return parse_hash(p, word[1]);
    return refuse(p, "begins no line that is known: name, bias, stump and hash are", word[0]);
}

/* ---------------------------------------------------------------- lines */

/* FNV-1a, 64 bits, of the words with one space between them and a newline behind. */
static void add_hash(struct parser *p, char *const *word, uint32_t n)
{
    for (uint32_t w = 0; w < n; w++)
        for (const char *c = word[w];; c++) {
            const unsigned char byte =
                *c ? (unsigned char)*c : (unsigned char)(w + 1 < n ? ' ' : '\n');

            p->hash = (p->hash ^ byte) * UINT64_C(1099511628211);
            if (!*c)
                break;
        }
}

static int parse_line(struct parser *p, char *line)
{
    char *word[WORDS_MAX], *save = NULL;
    uint32_t n = 0;
    bool is_hash;
    int r;

    line[strcspn(line, "#")] = 0;
    for (char *w = strtok_r(line, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
        if (n == WORDS_MAX)
            return refuse(p, "has too many words behind it", word[0]);
        word[n++] = w;
    }
    if (!n)
        return 0;
    if (!p->began) {
        if (n != 2 || strcmp(word[0], "trigd-voxel-model") != 0 || strcmp(word[1], "1") != 0)
            return refuse(p, "does not begin a model; '" FORMAT "' does", word[0]);
        p->began = true;
        add_hash(p, word, n);
        return 0;
    }
    is_hash = !strcmp(word[0], "hash");
    r = parse_words(p, word, n);
    if (r == 0 && !is_hash)
        add_hash(p, word, n);
    return r;
}

static int parse_lines(struct parser *p, const char *text, size_t bytes)
{
    char line[LINE_MAX_];
    int r = 0;

    for (size_t at = 0; r == 0 && at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        const size_t n = end ? (size_t)(end - text) - at : bytes - at;

        p->line++;
        if (n >= sizeof line || memchr(text + at, 0, n)) {
            snprintf(p->why, p->why_bytes, "line %" PRIu32 " is binary or longer than %u bytes",
                     p->line, LINE_MAX_ - 1u);
            return -EINVAL;
        }
        memcpy(line, text + at, n);
        line[n] = 0;
        r = parse_line(p, line);
        at += n + 1;
    }
    if (r == 0 && !p->ended) {
        snprintf(p->why, p->why_bytes, "it does not end with its hash");
        r = -EINVAL;
    }
    return r;
}

int vox_model_parse(const char *text, size_t bytes, struct vox_model *ret_model, char *why,
                    size_t why_bytes)
{
    struct vox_model m = {0};
    struct parser p = {
        .m = &m, .hash = UINT64_C(14695981039346656037), .why = why, .why_bytes = why_bytes};
    const int r = parse_lines(&p, text, bytes);

    if (r < 0)
        vox_model_fini(&m);
    else
        *ret_model = m;
    return r;
}

int vox_model_read(const char *path, struct vox_model *ret_model, char *why, size_t why_bytes)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(MODEL_MAX_) : NULL, sentence[256] = "out of memory";
    size_t n;
    int r = text ? 0 : -errno;

    if (!f) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
        return r;
    }
    if (r == 0) {
        n = fread(text, 1, MODEL_MAX_, f);
        if (ferror(f) || n == MODEL_MAX_) {
            snprintf(sentence, sizeof sentence, "it cannot be read, or has more than 16 MiB");
            r = -EINVAL;
        } else {
            r = vox_model_parse(text, n, ret_model, sentence, sizeof sentence);
        }
    }
    if (r < 0)
        snprintf(why, why_bytes, "%s: %s", path, sentence);
    free(text);
    fclose(f);
    return r;
}

void vox_model_fini(struct vox_model *m)
{
    free(m->stumps);
    memset(m, 0, sizeof *m);
}

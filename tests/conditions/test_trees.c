/* SPDX-License-Identifier: Apache-2.0 */
/* The trees of b_score as a condition: the same answers, to the bit, with those that come with the
 * plugin, and the sums of others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beauty.h"
#include "beauty_model.h"
#include "collisions.h"

enum { IP_SIGNIFICANCE = 8, B_SCORE = 15 }; /* values */

static void write_column(FILE *f, const char *name, const struct beauty_tree *tree, size_t n,
                         size_t which)
{
    fprintf(f, "    %s:\n", name);
    for (size_t k = 0; k < n; k++) {
        const struct beauty_tree *t = &tree[k];

        if (which == 0)
            fprintf(f, "      - [%u, %u, %u]\n", t->feature[0], t->feature[1], t->feature[2]);
        else if (which == 1)
            fprintf(f, "      - [%.9g, %.9g, %.9g]\n", (double)t->threshold[0],
                    (double)t->threshold[1], (double)t->threshold[2]);
        else
            fprintf(f, "      - [%.9g, %.9g, %.9g, %.9g]\n", (double)t->leaf[0], (double)t->leaf[1],
                    (double)t->leaf[2], (double)t->leaf[3]);
    }
}

/* A file of conditions with these trees. */
static int write_trees(const char *path, const struct beauty_tree *tree, size_t n)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fputs("conditions:\n  b_trees:\n", f);
    write_column(f, "feature", tree, n, 0);
    write_column(f, "threshold", tree, n, 1);
    write_column(f, "leaf", tree, n, 2);
    return fclose(f) ? -1 : 0;
}

static int run(struct trg_testing *t, uint32_t d, const char *path)
{
    return trg_testing_conditions(t, path) < 0 || trg_testing_run(t, d, NULL, roi, N_ROIS) < 0 ? -1
                                                                                               : 0;
}

/* The trees of the plugin as a condition. */
static int check_same(struct trg_testing *t, uint32_t d, const char *path)
{
    static struct beauty_tree tree[BEAUTY_TREES + 1];
    static struct trg_result without[N_ROIS];

    for (size_t k = 0; k < 4; k++)
        tree[0].leaf[k] = BEAUTY_BIAS;
    memcpy(&tree[1], beauty_trees, sizeof beauty_trees);
    if (run(t, d, NULL) < 0 || write_trees(path, tree, BEAUTY_TREES + 1) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++)
        without[r] = roi[r].result;
    if (run(t, d, path) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++)
        if (memcmp(&without[r], &roi[r].result, sizeof without[r]) != 0) {
            printf("RoI %u differs on %s\n", r, trg_testing_device(t, d));
            return -1;
        }
    return 0;
}

static float ip_of(uint32_t r)
{
    return logf(1 + roi[r].result.value[IP_SIGNIFICANCE]);
}

/* Half way between the least and the largest. */
static float middle_ip(void)
{
    float low = ip_of(0), high = low;

    for (uint32_t r = 1; r < N_ROIS; r++) {
        low = fminf(low, ip_of(r));
        high = fmaxf(high, ip_of(r));
    }
    return 0.5f * (low + high);
}

/* A tree of one feature, with a threshold that RoIs lie on both sides of; its children ask again.
 */
static int check_other(struct trg_testing *t, uint32_t d, const char *path)
{
    const float middle = middle_ip(), step = 0.01f;
    const struct beauty_tree tree[] = {
        {{0}, {0}, {0.5f, 0.5f, 0.5f, 0.5f}},
        {{VX_B_IP, VX_B_IP, VX_B_IP}, {middle, middle - step, middle + step}, {1, 2, 3, 4}},
    };
    uint32_t seen[4] = {0};

    if (write_trees(path, tree, 2) < 0 || run(t, d, path) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++) {
        const float ip = ip_of(r);
        const uint32_t leaf = ip > middle ? 2u + (ip > middle + step) : ip > middle - step;

        seen[leaf]++;
        if (roi[r].result.value[B_SCORE] != 1.5f + (float)leaf) {
            printf("RoI %u on %s: %g instead of %u.5\n", r, trg_testing_device(t, d),
                   (double)roi[r].result.value[B_SCORE], 1 + leaf);
            return -1;
        }
    }
    printf("%s: %u, %u, %u, %u RoIs in the leaves\n", trg_testing_device(t, d), seen[0], seen[1],
           seen[2], seen[3]);
    return seen[0] + seen[1] && seen[2] + seen[3] ? 0 : -1;
}

int main(void)
{
    char path[] = "/tmp/trigd-trees-XXXXXX", plugin[1024];
    struct trg_testing *t = NULL;
    const int fd = mkstemp(path);
    int failed;

    snprintf(plugin, sizeof plugin, "%s/plugins/vertexing.so", getenv("TRIGD_BUILD"));
    make_tracks(fresh_seed());
    failed = fd < 0 || trg_testing_open(plugin, &t) < 0;
    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++)
        failed = check_same(t, d, path) < 0 || check_other(t, d, path) < 0;
    trg_testing_close(t);
    if (fd >= 0)
        close(fd);
    unlink(path);
    return failed;
}

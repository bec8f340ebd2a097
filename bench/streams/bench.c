/* SPDX-License-Identifier: Apache-2.0 */
/* bench_streams - what the writer thread of a stream does with RoIs: gathering, compression, check
 * sums and writing to a file in the page cache, on one core, by level of zstd. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "blockfile.h"
#include "clock.h"
#include "generator.h"
#include "log.h"
#include "result.h"

#define BYTES (96u << 20) /* of RoIs in one run */

struct record {
    unsigned char *bytes;
    size_t n;
};

struct bench {
    uint32_t runs;
    const char *folder;
    struct results out;
    struct record *record;
    uint32_t n;
    uint64_t bytes; /* of all records */
};

static int pack(const struct generated *g, struct record *ret_record)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    struct generated_message m;
    Trigd__V1__Roi *list = &m.roi;

    generated_message(g, &m);
    m.roi.truth = NULL; /* no detector has it */
    batch.n_rois = 1;
    batch.rois = &list;
    ret_record->n = trigd__v1__roi_batch__get_packed_size(&batch);
    ret_record->bytes = malloc(ret_record->n);
    if (!ret_record->bytes)
        return -ENOMEM;
    trigd__v1__roi_batch__pack(&batch, ret_record->bytes);
    return 0;
}

static int make(struct bench *b, const char *preset, uint32_t n)
{
    const struct generator_preset *p = generator_find(preset);
    struct generated g;
    int r = 0;

    b->record = calloc(n, sizeof *b->record);
    if (!b->record)
        return -ENOMEM;
    generated_init(&g);
    for (b->n = 0, b->bytes = 0; r == 0 && b->n < n; b->n++) {
        r = generator_make(p, 1, b->n, &g);
        if (r == 0)
            r = pack(&g, &b->record[b->n]);
        b->bytes += b->record[b->n].n;
    }
    generated_fini(&g);
    return r;
}

static void drop(struct bench *b)
{
    for (uint32_t i = 0; b->record && i < b->n; i++)
        free(b->record[i].bytes);
    free(b->record);
    b->record = NULL;
}

/* One file of about BYTES; RoIs written in a second of this thread's CPU time, the kernel's part
 * included. */
static int run(struct bench *b, uint32_t level, double *ret_rate, double *ret_ratio)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct blockfile_writer *w;
    char path[512];
    uint64_t rois = 0, in = 0;
    uint64_t from;
    int r;

    snprintf(path, sizeof path, "%.400s/bench-streams-%d.roi", b->folder, (int)getpid());
    unlink(path);
    r = blockfile_create(path, &header, level, &w);
    if (r < 0)
        return r;
    from = clock_thread_ns();
    while (r == 0 && in < BYTES) {
        const struct record *record = &b->record[rois++ % b->n];

        r = blockfile_add(w, record->bytes, record->n, 1);
        if (r == 0 && blockfile_gathered(w) >= BLOCKFILE_BLOCK)
            r = blockfile_flush(w);
        in += record->n;
    }
    *ret_rate = 1e9 * (double)rois / (double)(clock_thread_ns() - from);
    *ret_ratio = (double)in / (double)blockfile_bytes(w);
    blockfile_drop(w);
    blockfile_finish(w);
    unlink(path);
    return r;
}

static void report(struct bench *b, const char *preset, uint32_t level, const struct result *rate,
                   double ratio)
{
    struct result_figure f = {.unit = "RoIs/s", .higher_is_better = true};
    const double mbytes = 1e-6 * (double)b->bytes / b->n;

    result_report(&b->out, &f, rate, "%s, level %u: one core writes", preset, level);
    f.unit = "MB/s";
    result_report_value(&b->out, &f, result_median(rate) * mbytes, result_spread(rate) * mbytes,
                        rate->n, "%s, level %u: one core takes", preset, level);
    f.unit = "x";
    result_report_value(&b->out, &f, ratio, 0, 1, "%s, level %u: compression", preset, level);
}

static int measure(struct bench *b, const char *preset, uint32_t n)
{
    static const uint32_t levels[] = {0, 1, 3, 6, 9};
    struct result rate[sizeof levels / sizeof *levels] = {{.n = 0}};
    double ratio[sizeof levels / sizeof *levels] = {0}, one = 0;
    int r = make(b, preset, n);

    if (r == 0 && !b->n)
        r = -ENODATA;
    for (uint32_t i = 0; r == 0 && i < b->runs; i++)
        for (size_t k = 0; r == 0 && k < sizeof levels / sizeof *levels; k++) {
            r = run(b, levels[k], &one, &ratio[k]);
            result_add(&rate[k], one);
        }
    for (size_t k = 0; r == 0 && k < sizeof levels / sizeof *levels; k++)
        report(b, preset, levels[k], &rate[k], ratio[k]);
    drop(b);
    return r;
}

int main(int argc, char **argv)
{
    static struct bench b = {.runs = 5, .folder = "/tmp", .out = {.bench = "streams"}};
    const struct arg table[] = {
        {"runs", ARG_U32, &b.runs, 1, RESULT_RUNS_MAX, "N", "of which the median counts (5)"},
        {"folder", ARG_TEXT, &b.folder, 0, 0, "FOLDER", "of the file (default /tmp)"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    log_set_level(TRG_ERROR);
    r = measure(&b, "lowlum", 2000);
    if (r == 0)
        r = measure(&b, "highlum", 100);
    if (r == 0)
        r = measure(&b, "velo", 300);
    return result_end(&b.out, r);
}

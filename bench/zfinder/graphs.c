/* SPDX-License-Identifier: Apache-2.0 */
/* zfinder_graphs - what CUDA graphs would gain: batches of pairs with copies in and out, enqueued
 * call by call as the plugin does it, replayed as a graph that never changes, and replayed after
 * the graph was told the batch's sizes, which a daemon would have to do every time.  One batch
 * after the other, and four in flight from one thread.
 *
 *     build/release/bench/zfinder_graphs build/release/plugins/zfinder [JSON] */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "exec/stage.h"
#include "generator.h"
#include "result.h"
#include "zfinder.h"

#define SLOTS    4u
#define RUNS     5u
#define ROIS_MAX 256u
#define PI       3.14159265358979323846

enum way { CALLS, GRAPH, UPDATED, WAYS };
static const char *const way_name[WAYS] = {"calls", "graph", "graph, told sizes"};

enum step { COPY_IN, COPY_ROIS, SORT, PAIRS, PEAKS, COPY_OUT, STEPS };

struct slot {
    cudaStream_t stream;
    void *in_host, *rois_host, *results_host; /* pinned */
    void *in, *rois, *starts, *points, *tags, *neighbours, *hist, *results;
    size_t in_bytes;
    struct zf_par par;
    cudaGraphExec_t graph;
    cudaGraphNode_t node[STEPS];
};

static cudaKernel_t kernel[3];

/* Errors of a benchmark end it. */
static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "zfinder_graphs: %s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}
#define CHECK(call) check((call), #call)

/* ---------------------------------------------------------------- one batch */

/* The preset "pure", as the plugin prepares it. */
static void prepare(const struct trg_roi_info *info, struct zf_roi *roi)
{
    const double phi_min = remainder((double)info->phi_rad - (double)info->phi_half_rad, 2 * PI);

    *roi = (struct zf_roi){.phi_min = (float)phi_min,
                           .phi_width = 2 * info->phi_half_rad,
                           .inv_slice = (float)(180 / (PI * 0.2)),
                           .inv_bin = 5,
                           .n_bins = 2000};
    roi->n_slices = (trg_u32)ceil((double)roi->phi_width * (double)roi->inv_slice);
}

static void fill(struct slot *s, const struct generated *g, uint32_t n)
{
    static struct stage_source sources[ROIS_MAX];
    static struct trg_roi_info infos[ROIS_MAX];
    uint64_t items = 0;

    for (uint32_t i = 0; i < n; i++) {
        infos[i] = g[i].info;
        sources[i].n = g[i].n;
        for (uint32_t c = 0; c < 4; c++)
            sources[i].column[c] = generated_column(&g[i], c);
        items += g[i].n;
        prepare(&infos[i], (struct zf_roi *)s->rois_host + i);
    }
    s->in_bytes = stage_fill(TRG_SPACEPOINTS, n, infos, sources, s->in_host, &s->par.in);
    s->par.n_rois = n;
    s->par.parts = (trg_u32)((4 * 132 + n - 1) / n);
    if (s->par.parts > items / n / 512)
        s->par.parts = (trg_u32)(items / n / 512);
    s->par.parts = s->par.parts < 1 ? 1 : s->par.parts > 32 ? 32 : s->par.parts;
}

static void open_slot(struct slot *s, const struct generated *g, uint32_t n)
{
    uint32_t items = 0;
    size_t bytes;

    for (uint32_t i = 0; i < n; i++)
        items += g[i].n;
    bytes = stage_bytes(TRG_SPACEPOINTS, n, items);
    s->par = (struct zf_par){.slices_room = 1801,
                             .items_room = (items + n * ZF_GAP + 63u) & ~63u,
                             .peaks_room = 1,
                             .z_max = 200,
                             .layers_used = 0xfffff,
                             .last_barrel = 7,
                             .first_layers = 32,
                             .charges = 1,
                             .min_total = 2};
    CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&s->in_host, bytes));
    CHECK(cudaMallocHost(&s->rois_host, n * sizeof(struct zf_roi)));
    CHECK(cudaMallocHost(&s->results_host, 2 * sizeof(struct zf_peak) * n));
    CHECK(cudaMalloc(&s->in, bytes));
    CHECK(cudaMalloc(&s->rois, n * sizeof(struct zf_roi)));
    CHECK(cudaMalloc(&s->starts, (size_t)n * (s->par.slices_room + 1) * 4));
    CHECK(cudaMalloc(&s->points, ((size_t)s->par.items_room + ZF_SLACK) * 16));
    CHECK(cudaMalloc(&s->tags, 4));
    CHECK(cudaMalloc(&s->neighbours, (size_t)ZF_LAYERS * ZF_LAYERS));
    CHECK(cudaMalloc(&s->hist, (size_t)n * 2 * ZF_ENTRIES * 4));
    CHECK(cudaMalloc(&s->results, 2 * sizeof(struct zf_peak) * n));
    fill(s, g, n);
}

static void close_slot(struct slot *s)
{
    void *device[] = {s->in,   s->rois,       s->starts, s->points,
                      s->tags, s->neighbours, s->hist,   s->results};

    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        CHECK(cudaFree(device[i]));
    CHECK(cudaFreeHost(s->in_host));
    CHECK(cudaFreeHost(s->rois_host));
    CHECK(cudaFreeHost(s->results_host));
    CHECK(cudaGraphExecDestroy(s->graph));
    CHECK(cudaStreamDestroy(s->stream));
}

/* Launch number `k` of the three, with its arguments. */
static struct cudaKernelNodeParams launch_of(struct slot *s, uint32_t k, void **args)
{
    const struct zf_par *p = &s->par;
    void *const sort[] = {&s->in, &s->rois, &s->starts, &s->points, &s->tags, &s->results, &s->par};
    void *const pairs[] = {&s->rois,    &s->starts,     &s->points, &s->tags,
                           &s->results, &s->neighbours, &s->hist,   &s->par};
    void *const peaks[] = {&s->rois, &s->hist, &s->results, &s->results, &s->par};
    struct cudaKernelNodeParams launch = {.func = (void *)kernel[k], .kernelParams = args};

    memcpy(args,
           k == 0   ? sort
           : k == 1 ? pairs
                    : peaks,
           k == 0   ? sizeof sort
           : k == 1 ? sizeof pairs
                    : sizeof peaks);
    launch.gridDim = (dim3){k == 1 ? p->n_rois * p->parts : p->n_rois, 1, 1};
    launch.blockDim = (dim3){k == 0 ? ZF_SORT_GROUP : ZF_GROUP_MAX, 1, 1};
    return launch;
}

static void enqueue(struct slot *s)
{
    const uint32_t n = s->par.n_rois;

    CHECK(cudaMemcpyAsync(s->in, s->in_host, s->in_bytes, cudaMemcpyHostToDevice, s->stream));
    CHECK(cudaMemcpyAsync(s->rois, s->rois_host, n * sizeof(struct zf_roi), cudaMemcpyHostToDevice,
                          s->stream));
    for (uint32_t k = 0; k < 3; k++) {
        void *args[8];
        struct cudaKernelNodeParams l = launch_of(s, k, args);

        if (k == 1 && s->par.parts > 1)
            CHECK(cudaMemsetAsync(s->hist, 0, (size_t)n * 2 * ZF_ENTRIES * 4, s->stream));
        CHECK(cudaLaunchKernel(l.func, l.gridDim, l.blockDim, args, 0, s->stream));
    }
    CHECK(cudaMemcpyAsync(s->results_host, s->results, 2 * sizeof(struct zf_peak) * n,
                          cudaMemcpyDeviceToHost, s->stream));
}

/* Captures the batch; the nodes come in the order in which they were enqueued, fills left out. */
static void capture(struct slot *s)
{
    cudaGraph_t graph;
    cudaGraphNode_t nodes[16];
    size_t n = 16, to = 0;

    CHECK(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
    enqueue(s);
    CHECK(cudaStreamEndCapture(s->stream, &graph));
    CHECK(cudaGraphGetNodes(graph, nodes, &n));
    for (size_t i = 0; i < n; i++) {
        enum cudaGraphNodeType type;

        CHECK(cudaGraphNodeGetType(nodes[i], &type));
        if (type != cudaGraphNodeTypeMemset && to < STEPS)
            s->node[to++] = nodes[i];
    }
    CHECK(cudaGraphInstantiate(&s->graph, graph, 0));
}

/* Tells the graph the sizes of the batch, as if they had changed. */
static void tell_sizes(struct slot *s)
{
    const uint32_t n = s->par.n_rois;

    CHECK(cudaGraphExecMemcpyNodeSetParams1D(s->graph, s->node[COPY_IN], s->in, s->in_host,
                                             s->in_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(s->graph, s->node[COPY_ROIS], s->rois, s->rois_host,
                                             n * sizeof(struct zf_roi), cudaMemcpyHostToDevice));
    for (uint32_t k = 0; k < 3; k++) {
        void *args[8];
        struct cudaKernelNodeParams l = launch_of(s, k, args);

        CHECK(cudaGraphExecKernelNodeSetParams(s->graph, s->node[SORT + k], &l));
    }
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(s->graph, s->node[COPY_OUT], s->results_host,
                                             s->results, 2 * sizeof(struct zf_peak) * n,
                                             cudaMemcpyDeviceToHost));
}

static void begin(struct slot *s, enum way way)
{
    if (way == UPDATED)
        tell_sizes(s);
    if (way == CALLS)
        enqueue(s);
    else
        CHECK(cudaGraphLaunch(s->graph, s->stream));
}

/* ---------------------------------------------------------------- measuring */

/* Microseconds a batch, with so many in flight. */
static double time_of(struct slot *slots, uint32_t in_flight, enum way way, uint32_t batches)
{
    uint64_t from;

    for (uint32_t i = 0; i < in_flight; i++)
        begin(&slots[i], way);
    CHECK(cudaDeviceSynchronize());
    from = clock_ns();
    for (uint32_t i = 0, next = 0; i < batches; i++) {
        CHECK(cudaStreamSynchronize(slots[next].stream));
        begin(&slots[next], way);
        next = next + 1 < in_flight ? next + 1 : 0;
    }
    CHECK(cudaDeviceSynchronize());
    return (double)(clock_ns() - from) * 1e-3 / batches;
}

static void measure(const char *sample, const struct generated *g, uint32_t n, FILE *json)
{
    struct slot slots[SLOTS] = {{0}};

    if (n < 1 || n > ROIS_MAX)
        return;
    for (uint32_t i = 0; i < SLOTS; i++) {
        open_slot(&slots[i], g, n);
        capture(&slots[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t in_flight = i ? SLOTS : 1;

        printf("%-8s %5u %10u", sample, n, in_flight);
        for (enum way way = CALLS; way < WAYS; way++) {
            struct result us = {.n = 0};
            char figure[96];
            struct result_figure f = {.bench = "zfinder graphs",
                                      .figure = figure,
                                      .unit = "us a batch",
                                      .command = "zfinder_graphs",
                                      .device = "cuda"};

            for (uint32_t k = 0; k < RUNS; k++)
                result_add(&us, time_of(slots, in_flight, way, n > 16 ? 100 : 400));
            snprintf(figure, sizeof figure, "%s pairs, batch %u, %u in flight, %s", sample, n,
                     in_flight, way_name[way]);
            result_write(json, &f, &us);
            printf("  %18.1f", result_median(&us));
        }
        printf("\n");
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        close_slot(&slots[i]);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"zf_sort", "zf_near_pairs", "zf_peaks"};
    static const char *const samples[] = {"highlum", "lowlum"};
    static const uint32_t batches[] = {1, 16, 64, 256};
    static struct generated g[ROIS_MAX];
    FILE *json = argc > 2 ? fopen(argv[2], "a") : NULL;
    cudaLibrary_t library[2];

    if (argc < 2 || (argc > 2 && !json)) {
        fprintf(stderr, "usage: zfinder_graphs FOLDER [JSON]\n");
        return 2;
    }
    for (uint32_t i = 0; i < 2; i++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/%s.fatbin", argv[1], i ? "near" : "zfinder");
        CHECK(cudaLibraryLoadFromFile(&library[i], path, NULL, NULL, 0, NULL, NULL, 0));
    }
    for (uint32_t k = 0; k < 3; k++)
        CHECK(cudaLibraryGetKernel(&kernel[k], library[k == 1], names[k]));
    printf("%-8s %5s %10s", "sample", "batch", "in flight");
    for (enum way way = CALLS; way < WAYS; way++)
        printf("  %18s", way_name[way]);
    printf("  us a batch\n");
    for (size_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < ROIS_MAX; i++)
            if (generator_make(generator_find(samples[s]), 1, i, &g[i]) < 0)
                return 1;
        for (size_t b = 0; b < sizeof batches / sizeof *batches; b++)
            measure(samples[s], g, batches[b], json);
    }
    for (uint32_t i = 0; i < ROIS_MAX; i++)
        generated_fini(&g[i]);
    return json && fclose(json) ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* make_decode_corpus FOLDER: writes one file for each kind of message, good and bad. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "malformed.h"

#define LARGEST 4096u

static const char *folder;
static struct sample sample;

/* Writes a file named after what it is. */
static void put(const char *what, const void *bytes, size_t n)
{
    char name[64], path[4096];
    size_t k = 0;
    FILE *f;

    for (; what[k] && k + 1 < sizeof name; k++)
        name[k] = isalnum((unsigned char)what[k]) ? what[k] : '-';
    name[k] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static void put_sample(const char *what)
{
    size_t n;
    void *bytes = sample_pack(&sample, &n);

    put(what, bytes, n);
    free(bytes);
}

static void put_rows(void)
{
    for (size_t i = 0; i < n_malformed; i++) {
        const struct malformed *row = &malformed[i];

        if (row->bytes) {
            put(row->what, row->bytes, row->n);
        } else if (row->spoil && !strstr(row->what, "more than max_items")) {
            sample_init(&sample, 5);
            row->spoil(&sample);
            put_sample(row->what);
        } else if (row->make) {
            size_t n;
            const void *bytes = row->make(&n);

            put(row->what, bytes, n < LARGEST ? n : LARGEST); /* cut: its length does not fit */
        }
    }
}

static void put_hello(const char *what, const char *name)
{
    Trigd__V1__Hello hello = TRIGD__V1__HELLO__INIT;

    sample_init(&sample, 0);
    hello.protocol = 1;
    hello.name = (char *)name;
    hello.want_credits = 100;
    sample.message.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    sample.message.hello = &hello;
    put_sample(what);
}

static void put_short_ones(void)
{
    Trigd__V1__Heartbeat beat = TRIGD__V1__HEARTBEAT__INIT;
    Trigd__V1__Bye bye = TRIGD__V1__BYE__INIT;

    put_hello("a Hello", "client");
    for (size_t i = 0; i < n_malformed; i++)
        if (malformed[i].name)
            put_hello(malformed[i].what, malformed[i].name);
    beat.sent_ns = 123456789;
    sample.message.body_case = TRIGD__V1__TO_DAEMON__BODY_HEARTBEAT;
    sample.message.heartbeat = &beat;
    put_sample("a Heartbeat");
    sample.message.body_case = TRIGD__V1__TO_DAEMON__BODY_BYE;
    sample.message.bye = &bye;
    put_sample("a Bye");
}

static void put_batches(void)
{
    static Trigd__V1__Roi *twice[2] = {&sample.roi, &sample.roi};
    uint64_t random = 1;

    sample_init(&sample, 0);
    put_sample("an RoI with empty collections");
    sample.roi.spacepoints = NULL;
    sample.roi.hits = NULL;
    sample.roi.tracks = NULL;
    put_sample("an RoI without collections");
    sample_init(&sample, 5);
    put_sample("a good RoI");
    sample.batch.n_rois = 2;
    sample.batch.rois = twice;
    put_sample("two RoIs");
    sample_init_random(&sample, &random);
    sample.spacepoints.n_phi_rad = sample.spacepoints.n_rho_mm = sample.spacepoints.n_z_mm =
        sample.spacepoints.layer.len = 40;
    sample.roi.spacepoints = &sample.spacepoints;
    sample.roi.quantized_spacepoints = NULL;
    sample.roi.hits = NULL;
    sample.roi.tracks = NULL;
    put_sample("random spacepoints");
    sample.quantized.phi.len = sample.quantized.rho.len = sample.quantized.z.len = 80;
    sample.quantized.layer.len = 40;
    sample_quantize(&sample);
    put_sample("random quantized spacepoints");
    sample_init(&sample, 5);
    sample_quantize(&sample);
    put_sample("an RoI with quantized spacepoints");
    sample_init(&sample, 5);
    sample_encode(&sample);
    put_sample("an RoI with encoded spacepoints");
    sample_init(&sample, 5);
    sample_declare(&sample, 5);
    put_sample("an RoI with declared columns");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_decode_corpus FOLDER\n");
        return 2;
    }
    folder = argv[1];
    put_rows();
    put_short_ones();
    put_batches();
    return 0;
}

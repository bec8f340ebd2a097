/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin host: what it opens, what it refuses and says, parameters from text and back. */
#include <dirent.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "copyfile.h"
#include "plugin/descriptor.h"
#include "plugin/inspector.h"
#include "plugin/plugin_inner.h"
#include "plugin/trusted.h"
#include "seed.h"

#define ANSWER_MS 1500u

static struct plugin_host *host;
static char folder[4096];

static int set_up_here(void **state)
{
    const char *build = getenv("TRIGD_BUILD");
    char *paths[] = {(char *)"/nonexistent", folder};

    (void)state;
    if (!build)
        fail_msg("TRIGD_BUILD is not set: run this through ctest");
    snprintf(folder, sizeof folder, "%s/config-plugins", build);
    return plugin_host_new(paths, 2, &host);
}

static int set_up_there(void **state)
{
    int r = set_up_here(state);

    return r < 0 ? r : plugin_host_inspect(host, ANSWER_MS);
}

static int teardown(void **state)
{
    (void)state;
    plugin_host_free(host);
    plugin_host_free(NULL);
    return 0;
}

static const struct plugin *good(void)
{
    const struct plugin *p = NULL;
    char why[512] = "";

    if (plugin_host_get(host, "good", &p, why, sizeof why) < 0)
        fail_msg("good.so was refused: %s", why);
    return p;
}

static void a_good_plugin_opens_once(void **state)
{
    const struct plugin *p = good(), *again = NULL;
    char why[512] = "", file[4200];

    (void)state;
    assert_string_equal(p->d.name, "good");
    assert_int_equal(p->n_params, 4);
    assert_int_equal(p->n_values, 2);
    assert_int_equal(p->n_inputs, 1);
    assert_ptr_equal(good(), p);
    snprintf(file, sizeof file, "%s/./good.so", folder);
    assert_int_equal(plugin_host_open(host, file, &again, why, sizeof why), 0);
    assert_ptr_equal(again, p);
}

static void bad_plugins_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *name;
        int r;
        const char *why;
    } table[] = {
        {"wrong_abi", -EINVAL, "built for plugin ABI 77; this daemon speaks ABI 2"},
        {"old_abi", -EINVAL, "built for plugin ABI 1; this daemon speaks ABI 2"},
        {"wrong_size", -EINVAL, "descriptor has 3 bytes"},
        {"other_name", -EINVAL, "calls itself 'somebody_else'; its file must be somebody_else.so"},
        {"no_submit", -EINVAL, "submit"},
        {"older", -EINVAL, "collect is missing"},
        {"bad_offset", -EINVAL, "parameter 'r_mm' lies at byte 16 of a config struct of 16 bytes"},
        {"bad_default", -EINVAL,
         "a default is wrong: 'n' is '65'; allowed: a whole number from 1 to 64"},
        {"bad_preset", -EINVAL, "preset 'big' is wrong"},
        {"bad_choice", -EINVAL, "parameter 'mode': choices"},
        {"bad_range", -EINVAL, "parameter 'n' has min 99 above max 64"},
        {"twice", -EINVAL, "parameter 'n' is there twice"},
        {"many_values", -EINVAL, "more than 16 values"},
        {"bad_kind", -EINVAL, "collection bad has the hash 0000000000000001, its columns have "},
        {"gap", -EINVAL, "consumes[2] is given and consumes[1] is not; no gaps are allowed"},
        {"no_input", -EINVAL, "consumes no collection"},
        {"bad_guest", -EINVAL,
         "it is a guest, and open, submit, collect, save, progress or close of its table is "
         "missing"},
        {"no_table", -EINVAL, "condition 'beam_line' has no help or table"},
        {"same_twice", -EINVAL, "produces doublets twice"},
        {"bad_room", -EINVAL,
         "room for doublets names 'r_mm'; parameters of the type U32 are allowed"},
        {"bad_backend", -EINVAL, "backend 'tpu'; allowed are cpu, opencl, cuda"},
        {"bad_check", -EINVAL, "its own check refuses the defaults: n above 32 needs flag"},
        {"no_symbol", -EINVAL, "exports no 'trg_plugin'"},
        {"nowhere", -ENOENT, "there is no plugin 'nowhere' (nowhere.so) in /nonexistent, "},
        {"kdtree", -ENOENT, "it is called 'doublets' now"},
        {"../good", -ENOENT, "'../good' is no plugin name"},
        {"", -ENOENT, "is no plugin name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct plugin *p = NULL;
        char why[5000] = "";

        assert_int_equal(plugin_host_get(host, table[i].name, &p, why, sizeof why), table[i].r);
        assert_null(p);
        if (!strstr(why, table[i].why))
            fail_msg("%s: \"%s\" does not say \"%s\"", table[i].name, why, table[i].why);
    }
}

static void a_file_that_is_no_plugin_is_refused(void **state)
{
    const struct plugin *p = NULL;
    char why[512] = "";

    (void)state;
    assert_int_equal(plugin_host_open(host, "/proc/self/cmdline", &p, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "cannot be used"));
    assert_int_equal(plugin_host_open(host, "/nonexistent.so", &p, why, sizeof why), -ENOENT);
    assert_null(p);
}

static void value_is(const struct plugin *p, const void *params, uint32_t i, const char *text)
{
    char got[64];

    plugin_get(p, i, params, got, sizeof got);
    assert_string_equal(got, text);
}

static void parameters_from_text_and_back(void **state)
{
    const struct plugin *p = good();
    uint32_t params[4];
    char why[512];

    (void)state;
    plugin_defaults(p, params);
    value_is(p, params, 0, "true");
    value_is(p, params, 1, "4");
    value_is(p, params, 2, "10");
    value_is(p, params, 3, "one");
    assert_int_equal(plugin_preset(p, "big", params, why, sizeof why), 0);
    value_is(p, params, 1, "32");
    value_is(p, params, 3, "two");
    assert_int_equal(plugin_set(p, "flag", "false", params, why, sizeof why), 0);
    assert_int_equal(plugin_set(p, "n", "64", params, why, sizeof why), 0);
    assert_int_equal(plugin_set(p, "r_mm", "2.5e1", params, why, sizeof why), 0);
    assert_int_equal(plugin_set(p, "mode", "three", params, why, sizeof why), 0);
    value_is(p, params, 0, "false");
    value_is(p, params, 1, "64");
    value_is(p, params, 2, "25");
    value_is(p, params, 3, "three");
}

static void wrong_parameters_change_nothing(void **state)
{
    static const struct {
        const char *key, *text, *why;
    } table[] = {
        {"flag", "yes", "allowed: true, false"},
        {"n", "0", "a whole number from 1 to 64"},
        {"n", "65", "a whole number from 1 to 64"},
        {"n", "-1", "a whole number"},
        {"n", "4.5", "a whole number"},
        {"n", "", "a whole number"},
        {"n", "18446744073709551617", "a whole number"},
        {"n", "4294967297", "a whole number"},
        {"r_mm", "101", "a number from 0 to 100 mm"},
        {"r_mm", "nan", "a number from 0 to 100 mm"},
        {"r_mm", "inf", "a number from 0 to 100 mm"},
        {"r_mm", "10 mm", "a number from 0 to 100 mm"},
        {"r_mm", " 10", "a number from 0 to 100 mm"},
        {"r_mm", "", "a number from 0 to 100 mm"},
        {"mode", "on", "allowed: one|two|three"},
        {"mode", "one|two", "allowed: one|two|three"},
        {"mode", "", "allowed: one|two|three"},
        {"r_m", "1", "has no parameter 'r_m'; did you mean 'r_mm'?"},
        {"somethingelse", "1", "'trigctl show plugin good' lists them"},
    };
    const struct plugin *p = good();
    uint32_t params[4], before[4];

    (void)state;
    plugin_defaults(p, params);
    memcpy(before, params, sizeof params);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char why[512] = "";

        assert_int_equal(plugin_set(p, table[i].key, table[i].text, params, why, sizeof why),
                         -EINVAL);
        if (!strstr(why, table[i].why))
            fail_msg("%s=%s: \"%s\" does not say \"%s\"", table[i].key, table[i].text, why,
                     table[i].why);
        assert_memory_equal(params, before, sizeof params);
    }
}

static void an_unknown_preset_names_the_known(void **state)
{
    uint32_t params[4];
    char why[512] = "";

    (void)state;
    plugin_defaults(good(), params);
    assert_int_equal(plugin_preset(good(), "bigger", params, why, sizeof why), -ENOENT);
    assert_string_equal(why, "plugin 'good' has no preset 'bigger'; it has: big");
}

/* ---------------------------------------------------------------- code in a process of its own */

static void a_plugin_that_ends_its_process_is_refused_alone(void **state)
{
    static const struct {
        const char *name, *why;
    } table[] = {{"crashes", "crashes.so cannot be used: loading it ended the process that did it: "
                             "Killed"},
                 {"leaves", "loading it ended the process that did it, with exit code 7"},
                 {"hangs", "loading it took longer than 1500 ms"}};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct plugin *p = NULL;
        char why[512] = "";

        assert_int_equal(plugin_host_get(host, table[i].name, &p, why, sizeof why), -EINVAL);
        assert_null(p);
        if (!strstr(why, table[i].why))
            fail_msg("%s: \"%s\" does not say \"%s\"", table[i].name, why, table[i].why);
    }
    assert_non_null(good());
}

static void a_check_runs_where_the_code_is(void **state)
{
    const struct plugin *p = NULL;
    uint32_t params[4];
    char why[512] = "";

    (void)state;
    assert_int_equal(plugin_host_get(host, "check_dies", &p, why, sizeof why), 0);
    assert_null(p->d.check);
    plugin_defaults(p, params);
    assert_int_equal(plugin_check(p, params, why, sizeof why), 0);
    params[1] = 13;
    assert_int_equal(plugin_check(p, params, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "own check of its parameters ended the process that did it"));
    params[0] = 0;
    params[1] = 33;
    assert_int_equal(plugin_check(p, params, why, sizeof why), -EINVAL);
    assert_string_equal(why, "n above 32 needs flag: true");
}

static uint32_t open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    uint32_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Writes the plugin with some bytes more, behind the end of what is loaded. */
static void write_version(const char *path, int32_t more)
{
    static char bytes[1 << 20];
    char from[4200];
    FILE *in, *out;
    size_t n;

    snprintf(from, sizeof from, "%s/good.so", folder);
    in = fopen(from, "rb");
    out = fopen(path, "wb");
    assert_non_null(in);
    assert_non_null(out);
    n = fread(bytes, 1, sizeof bytes - 100, in);
    assert_true(n > 0 && feof(in));
    n += (size_t)more;
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* The private copy of a version that was replaced is closed when its last user has given it back.
 */
static void old_versions_are_closed(void **state)
{
    const struct plugin *p[5] = {0}, *again = NULL;
    char place[] = "/tmp/trigd-versions-XXXXXX", path[64], why[512] = "";
    uint32_t before;

    (void)state;
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/good.so", place);
    good(); /* the inspector runs */
    before = open_descriptors();
    for (int32_t i = 0; i < 5; i++) {
        write_version(path, i);
        if (plugin_host_open(host, path, &p[i], why, sizeof why) < 0)
            fail_msg("%s", why);
        assert_true(i == 0 || p[i] != p[i - 1]);
    }
    assert_int_equal(plugin_host_open(host, path, &again, why, sizeof why), 0);
    assert_ptr_equal(again, p[4]);
    assert_int_equal(open_descriptors(), before + 5);
    for (int32_t i = 0; i < 4; i++)
        plugin_release(p[i]);
    assert_int_equal(open_descriptors(), before + 1);
    assert_string_equal(p[1]->d.name, "good"); /* it may still be read */
    plugin_release(again);
    plugin_release(p[4]); /* the one in force stays: a reload finds it */
    plugin_release(NULL);
    assert_int_equal(open_descriptors(), before + 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(place), 0);
}

/* The last byte that the loader would map, from the program headers. */
static long end_of_code(const char *path)
{
    FILE *f = fopen(path, "rb");
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    long end = 0;

    assert_non_null(f);
    assert_int_equal(fread(&head, sizeof head, 1, f), 1);
    for (uint32_t i = 0; i < head.e_phnum; i++) {
        assert_int_equal(fseek(f, (long)(head.e_phoff + i * head.e_phentsize), SEEK_SET), 0);
        assert_int_equal(fread(&part, sizeof part, 1, f), 1);
        if (part.p_type == PT_LOAD && (long)(part.p_offset + part.p_filesz) > end)
            end = (long)(part.p_offset + part.p_filesz);
    }
    fclose(f);
    return end;
}

/* A plugin that is still being written is refused, though the loader would map what there is. */
static void a_plugin_without_its_end_is_refused(void **state)
{
    char place[] = "/tmp/trigd-cut-XXXXXX", path[64], why[512] = "";
    const struct plugin *p = NULL;
    long end;

    (void)state;
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/good.so", place);
    write_version(path, 0);
    end = end_of_code(path);
    assert_int_equal(truncate(path, end - 1), 0);
    assert_int_equal(plugin_host_open(host, path, &p, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "its end is missing"));
    write_version(path, 0);
    assert_int_equal(truncate(path, end), 0);
    if (plugin_host_open(host, path, &p, why, sizeof why) < 0)
        fail_msg("%s", why);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(place), 0);
}

/* A descriptor that was sent says what the plugin's own does. */
static void a_descriptor_arrives_whole(void **state)
{
    static const char *const names[] = {"good", "maker", "relay", "taker", "needy", "towers"};
    static unsigned char here[DESCRIPTOR_BYTES], there[DESCRIPTOR_BYTES];
    char *paths[] = {folder};
    struct plugin_host *direct;

    (void)state;
    assert_int_equal(plugin_host_new(paths, 1, &direct), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct plugin *a = NULL, *b = NULL;
        size_t n_here = 0, n_there = 0;
        char why[512] = "";

        assert_int_equal(plugin_host_get(direct, names[i], &a, why, sizeof why), 0);
        assert_int_equal(plugin_host_get(host, names[i], &b, why, sizeof why), 0);
        assert_null(b->d.submit);
        assert_int_equal(descriptor_pack(a, here, &n_here), 0);
        assert_int_equal(descriptor_pack(b, there, &n_there), 0);
        assert_int_equal(n_here, n_there);
        assert_memory_equal(here, there, n_here);
        assert_memory_equal(a->consumes, b->consumes, sizeof a->consumes);
        assert_memory_equal(a->produces, b->produces, sizeof a->produces);
        assert_true(n_here > 100); /* the texts are there */
    }
    plugin_host_free(direct);
}

static void expect_trust(const char *path, mode_t file, mode_t parent, const char *refused)
{
    char folder_of_it[256], why[4608] = "";

    snprintf(folder_of_it, sizeof folder_of_it, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(chmod(path, file), 0);
    assert_int_equal(chmod(folder_of_it, parent), 0);
    if (trusted_file(path, why, sizeof why) != (refused ? -EPERM : 0))
        fail_msg("modes %o and %o: %s", file, parent, why);
    if (refused)
        assert_non_null(strstr(why, refused));
}

/* Code that other users can write to, or replace, is not loaded. */
static void others_may_not_write(void **state)
{
    char top[] = "/tmp/trigd-trusted-XXXXXX", inner[64], path[128], backend[128];
    char from[4200], why[8192] = "";
    char *paths[] = {inner};
    const struct plugin *p = NULL;
    struct plugin_host *guarded;

    (void)state;
    assert_non_null(mkdtemp(top));
    snprintf(inner, sizeof inner, "%s/plugins", top);
    snprintf(path, sizeof path, "%s/good.so", inner);
    snprintf(from, sizeof from, "%s/good.so", folder);
    assert_int_equal(mkdir(inner, 0755), 0);
    copy_file(from, path);
    expect_trust(path, 0644, 0755, NULL);
    expect_trust(path, 0666, 0755, "good.so can be written by every user");
    expect_trust(path, 0644, 0777, "plugins can be written by every user");
    expect_trust(path, 0644, 01777, NULL); /* as /tmp: others cannot replace the file */
    assert_int_equal(chown(path, (uid_t)-1, getegid()), 0);
    expect_trust(path, 0664, 0755, NULL);
    if (!geteuid()) { /* who may give files to other groups */
        assert_int_equal(chown(path, (uid_t)-1, 12345), 0);
        expect_trust(path, 0664, 0755, "by a group that is not the daemon's");
        expect_trust(path, 0644, 0755, NULL);
    }
    assert_int_equal(chmod(top, 0777), 0);
    expect_trust(path, 0644, 0755, "can be written by every user");
    assert_int_equal(plugin_host_new(paths, 1, &guarded), 0);
    plugin_host_guard(guarded);
    assert_int_equal(plugin_host_get(guarded, "good", &p, why, sizeof why), -EPERM);
    assert_non_null(strstr(why, "security.allow_writable_plugins"));
    snprintf(backend, sizeof backend, "%s/trigd-good.so", inner);
    assert_int_equal(link(path, backend), 0);
    assert_int_equal(trusted_backends(inner), -EPERM);
    assert_int_equal(chmod(top, 0755), 0);
    assert_int_equal(trusted_backends(inner), 0);
    assert_int_equal(trusted_backends("/nonexistent"), 0); /* said by who opens them */
    assert_int_equal(unlink(backend), 0);
    assert_int_equal(plugin_host_get(guarded, "good", &p, why, sizeof why), 0);
    plugin_release(p);
    plugin_host_free(guarded);
    assert_int_equal(unlink(path) + rmdir(inner) + rmdir(top), 0);
}

/* Whatever a process that plugins have spoilt answers, reading it is safe. */
static void a_spoilt_descriptor_is_read_safely(void **state)
{
    static unsigned char bytes[DESCRIPTOR_BYTES], spoilt[DESCRIPTOR_BYTES];
    const struct plugin *p = NULL;
    uint64_t seed = fresh_seed();
    size_t n = 0;
    char why[512] = "";

    (void)state;
    assert_int_equal(plugin_host_get(host, "relay", &p, why, sizeof why), 0);
    assert_int_equal(descriptor_pack(p, bytes, &n), 0);
    for (int round = 0; round < 2000; round++) {
        struct plugin got = {0};
        void *block = NULL;

        memcpy(spoilt, bytes, n);
        for (int k = 0; k < 3; k++)
            spoilt[(size_t)seed_uniform(&seed, 0, (double)n)] =
                (unsigned char)seed_uniform(&seed, 0, 256);
        snprintf(got.path, sizeof got.path, "relay.so");
        if (descriptor_unpack(spoilt, n - (size_t)round % 2, &got, &block) == 0)
            (void)plugin_check_tables(&got, why, sizeof why);
        free(block);
    }
}

/* The inspector is this program too. */
int main(int argc, char **argv)
{
    const struct CMUnitTest both[] = {cmocka_unit_test(a_good_plugin_opens_once),
                                      cmocka_unit_test(bad_plugins_are_refused_with_the_reason),
                                      cmocka_unit_test(a_file_that_is_no_plugin_is_refused),
                                      cmocka_unit_test(others_may_not_write),
                                      cmocka_unit_test(parameters_from_text_and_back),
                                      cmocka_unit_test(wrong_parameters_change_nothing),
                                      cmocka_unit_test(an_unknown_preset_names_the_known)};
    const struct CMUnitTest there[] = {
        cmocka_unit_test(a_plugin_that_ends_its_process_is_refused_alone),
        cmocka_unit_test(a_check_runs_where_the_code_is),
        cmocka_unit_test(old_versions_are_closed),
        cmocka_unit_test(a_plugin_without_its_end_is_refused),
        cmocka_unit_test(a_descriptor_arrives_whole),
        cmocka_unit_test(a_spoilt_descriptor_is_read_safely)};

    if (argc == 2 && !strcmp(argv[1], "--inspector"))
        return inspector_main();
    return cmocka_run_group_tests_name("here", both, set_up_here, teardown) +
           cmocka_run_group_tests_name("there", both, set_up_there, teardown) +
           cmocka_run_group_tests_name("there alone", there, set_up_there, teardown);
}

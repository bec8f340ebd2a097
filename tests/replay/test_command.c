/* SPDX-License-Identifier: Apache-2.0 */
/* The program trigreplay as people and scripts call it: what it prints, and with which code it
 * ends. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake.h"
#include "roifile.h"

#define ARGS_MAX 24

extern char **environ;

struct place {
    char folder[96], roi[128], json[128], out[128];
    char text[16384]; /* what the last command printed */
};

static int make_place(void **state)
{
    struct place *p = calloc(1, sizeof *p);

    assert_non_null(p);
    snprintf(p->folder, sizeof p->folder, "%.60s/replay-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->roi, sizeof p->roi, "%s/a.roi", p->folder);
    snprintf(p->json, sizeof p->json, "%s/report.json", p->folder);
    snprintf(p->out, sizeof p->out, "%s/out", p->folder);
    *state = p;
    return 0;
}

static int clear_place(void **state)
{
    struct place *p = *state;
    char socket[128];

    snprintf(socket, sizeof socket, "%s/fake.sock", p->folder);
    unlink(socket);
    unlink(p->roi);
    unlink(p->json);
    unlink(p->out);
    assert_int_equal(rmdir(p->folder), 0);
    free(p);
    return 0;
}

static void load(const char *path, char *text, size_t room)
{
    FILE *in = fopen(path, "r");
    size_t n;

    assert_non_null(in);
    n = fread(text, 1, room - 1, in);
    text[n] = 0;
    fclose(in);
}

static pid_t start(struct place *p, const char *const *args)
{
    char *argv[ARGS_MAX + 2], program[512];
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int n = 0;

    snprintf(program, sizeof program, "%s/bin/trigreplay", getenv("TRIGD_BUILD"));
    argv[n++] = program;
    for (; args[n - 1]; n++) {
        assert_true(n < ARGS_MAX);
        argv[n] = (char *)args[n - 1];
    }
    argv[n] = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, p->out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    assert_int_equal(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

static int finish(struct place *p, pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    load(p->out, p->text, sizeof p->text);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the program; returns its exit code. */
#define RUN(p, ...) finish(p, start(p, (const char *const[]){__VA_ARGS__, NULL}))

static void wants(const struct place *p, const char *part)
{
    if (!strstr(p->text, part))
        fail_msg("\"%s\" is not in what was printed:\n%s", part, p->text);
}

static void wrong_usage_gets_a_sentence(void **state)
{
    struct place *p = *state;

    assert_int_equal(RUN(p, "--help"), 0);
    wants(p, "usage: trigreplay run");
    wants(p, "Exit codes:");
    assert_int_equal(finish(p, start(p, (const char *const[]){NULL})), 2);
    wants(p, "usage:");
    assert_int_equal(RUN(p, "dance"), 2);
    wants(p, "there is no command \"dance\"; --help lists them");
    assert_int_equal(RUN(p, "run"), 2);
    wants(p, "--connect");
    assert_int_equal(RUN(p, "run", "--connect", "ipc://x", "more"), 2);
    wants(p, "run takes options only, not \"more\"");
    assert_int_equal(RUN(p, "run", "--connect", "ipc://x", "--rois", "many"), 2);
    wants(p, "--rois \"many\": a whole number from 1 to");
    assert_int_equal(RUN(p, "run", "--connect", "ipc://x", "--batch", "257"), 2);
    wants(p, "--batch \"257\": a whole number from 1 to 256");
    assert_int_equal(RUN(p, "run", "--connect", "ipc://x", "--truth", "1"), 2);
    wants(p, "STEP:VALUE");
    assert_int_equal(RUN(p, "run", "--connect", "ipc://x", "--pace", "rate:0"), 2);
    wants(p, "rate:HZ");
    assert_int_equal(RUN(p, "generate", "--preset", "lowlum"), 2);
    wants(p, "--out");
    assert_int_equal(RUN(p, "generate", "--preset", "low", "--out", p->roi), 2);
    wants(p, "--preset \"low\": there are lowlum highlum phase2");
    assert_int_equal(RUN(p, "show"), 2);
    assert_int_equal(RUN(p, "show", p->folder), 3);
    wants(p, "Is a directory");
    assert_int_equal(RUN(p, "show", "/etc/passwd"), 3);
    wants(p, "cannot read /etc/passwd: it is no RoI file, or it is damaged");
    /* before the first RoI is sent */
    assert_int_equal(RUN(p, "run", "--connect", "ipc://x", "--json", "/nonexistent/report"), 3);
    wants(p, "cannot write /nonexistent/report: No such file");
}

static void a_daemon_that_is_not_there_is_told(void **state)
{
    struct place *p = *state;

    assert_int_equal(
        RUN(p, "run", "--connect", "ipc:///nonexistent/sock", "--rois", "1", "--timeout", "50"), 3);
    wants(p, "no daemon answers at ipc:///nonexistent/sock within 50 ms");
}

static void generate_and_show(void **state)
{
    struct place *p = *state;
    char first[4096];

    assert_int_equal(
        RUN(p, "generate", "--preset", "lowlum", "--rois", "30", "--seed", "11", "--out", p->roi),
        0);
    wants(p, "30 RoIs of lowlum, seed 11");
    assert_int_equal(RUN(p, "generate", "--out", p->roi), 3);
    wants(p, "File exists");
    assert_int_equal(RUN(p, "show", p->roi), 0);
    wants(p, "preset lowlum, seed 11");
    wants(p, "hard scatter at z");
    wants(p, "30 RoIs in 30 records\n");
    snprintf(first, sizeof first, "%s", strchr(p->text, '\n')); /* the first line has the time */
    unlink(p->roi);
    assert_int_equal(RUN(p, "generate", "--rois", "30", "--seed", "11", "--out", p->roi), 0);
    assert_int_equal(RUN(p, "show", p->roi), 0);
    assert_string_equal(strchr(p->text, '\n'), first); /* the same seed, the same RoIs */
    assert_int_equal(truncate(p->roi, 20000), 0);
    assert_int_equal(RUN(p, "show", p->roi), 0);
    wants(p, "(the file was not closed)");
}

/* RoIs whose truth the fake daemon misses for every fourth number. */
static void write_truth(const char *path, uint32_t n)
{
    Trigd__V1__FileHeader header = TRIGD__V1__FILE_HEADER__INIT;
    struct roifile_writer *w;

    assert_int_equal(roifile_create(path, &header, &w), 0);
    for (uint32_t i = 0; i < n; i++) {
        Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
        Trigd__V1__Roi roi = TRIGD__V1__ROI__INIT, *list = &roi;
        Trigd__V1__Truth truth = TRIGD__V1__TRUTH__INIT;
        float z = (float)i;
        unsigned char bytes[256];

        truth.n_vertex_z_mm = 1;
        truth.vertex_z_mm = &z;
        roi.truth = &truth;
        roi.z_max_mm = z;
        batch.n_rois = 1;
        batch.rois = &list;
        assert_true(trigd__v1__roi_batch__get_packed_size(&batch) <= sizeof bytes);
        assert_int_equal(roifile_append(w, bytes, trigd__v1__roi_batch__pack(&batch, bytes), 1), 0);
    }
    assert_int_equal(roifile_finish(w), 0);
}

static void presets_name_what_they_make(void **state)
{
    struct place *p = *state;

    assert_int_equal(RUN(p, "generate", "--preset", "velo", "--rois", "2", "-o", p->roi), 0);
    wants(p, "hits an RoI");
    assert_int_equal(RUN(p, "show", p->roi), 0);
    wants(p, " hits; truth: ");
    unlink(p->roi);
    assert_int_equal(RUN(p, "generate", "--preset", "velo-tracks", "--rois", "2", "-o", p->roi), 0);
    wants(p, "tracks an RoI");
}

static void import_and_show(void **state)
{
    struct place *p = *state;
    char sample[512];

    assert_int_equal(RUN(p, "import"), 2);
    wants(p, "import wants one of these formats");
    wants(p, "lhcb-csv");
    assert_int_equal(RUN(p, "import", "root", "x", "-o", p->roi), 2);
    wants(p, "import \"root\": there are");
    assert_int_equal(RUN(p, "import", "trackml", "x"), 2);
    wants(p, "import trackml wants files and --out FILE");
    assert_int_equal(RUN(p, "import", "trackml", "/nonexistent", "-o", p->roi), 3);
    wants(p, "/nonexistent: cannot be read: No such file or directory");
    assert_true(access(p->roi, F_OK) < 0);
    snprintf(sample, sizeof sample, "%s/samples/pixel-bbbar.csv.gz", getenv("TRIGD_SOURCE"));
    assert_int_equal(RUN(p, "import", "particles", sample, "--preset", "lowlum", "-o", p->roi), 3);
    wants(p, "preset lowlum has no detector for particles");
    assert_int_equal(RUN(p, "import", "particles", sample, "--preset", "pixel", "-o", p->roi), 0);
    wants(p, "60 RoIs: ");
    assert_int_equal(RUN(p, "show", p->roi), 0);
    wants(p, "by \"trigreplay import particles\"");
    wants(p, "preset pixel, seed 1\n");
    wants(p, "60 RoIs in 60 records\n");
}

static void a_file_is_replayed_once_with_its_truth(void **state)
{
    struct place *p = *state;
    struct fake f = {.fault = FAKE_GOOD};

    write_truth(p->roi, 2400); /* more than the simulated ones would be */
    fake_start(&f, p->folder);
    assert_int_equal(RUN(p, "run", "--connect", f.endpoint, "--file", p->roi, "--json", p->json),
                     0);
    wants(p, "sent        2400 RoIs");
    wants(p, "hard-scatter vertex within 1 mm: 75.00 % of 2400");
    wants(p, "lost        0");
    wants(p, "chain       HLT_odd");
    load(p->json, p->text, sizeof p->text);
    wants(p, "\"with_truth\":2400,\"within_1mm\":1800");
    assert_int_equal(RUN(p, "run", "--connect", f.endpoint, "--file", p->roi, "--rois", "100",
                         "--truth", "none", "--quiet"),
                     0);
    assert_string_equal(p->text, "");
    assert_int_equal(f.rois, 2500);
    fake_stop(&f);
}

static void losses_end_with_code_1(void **state)
{
    struct place *p = *state;
    struct fake f = {.fault = FAKE_DROP, .every = 50};

    fake_start(&f, p->folder);
    assert_int_equal(RUN(p, "run", "--connect", f.endpoint, "--rois", "100", "--distinct", "10",
                         "--timeout", "1000"),
                     1);
    wants(p, "lost        2");
    wants(
        p,
        "trigreplay: 2 RoIs were lost, 0 events, 0 not taken, 0 not sent; 0 answers came twice or "
        "unasked");
    fake_stop(&f);
}

static void wait_for_rois(struct fake *f, uint64_t n)
{
    for (int i = 0; i < 10000 && f->distinct < n; i++) /* 10 s at most */
        usleep(1000);
    assert_true(f->distinct >= n);
}

/* Its exit code; the time-out of the run, a minute, is not waited for. */
static int finish_soon(struct place *p, pid_t pid)
{
    const time_t from = time(NULL);
    const int code = finish(p, pid);

    assert_true(time(NULL) < from + 30);
    return code;
}

/* SIGINT in the middle: what is in flight is waited for, and the report comes. */
static void an_interrupt_ends_with_the_report(void **state)
{
    struct place *p = *state;
    struct fake f = {.fault = FAKE_GOOD};
    const char *const args[] = {"run",        "--connect", f.endpoint, "--rois",    "1000000",
                                "--distinct", "10",        "--pace",   "rate:2000", NULL};
    pid_t pid;

    fake_start(&f, p->folder);
    pid = start(p, args);
    wait_for_rois(&f, 100);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(finish(p, pid), 0);
    wants(p, "lost        0");
    fake_stop(&f);
}

/* A run against this daemon, which has got 64 of the RoIs. */
static pid_t start_against(struct place *p, struct fake *f, const char *rois)
{
    const char *const args[] = {"run",        "--connect", f->endpoint, "--rois", rois,
                                "--distinct", "10",        "--timeout", "60000",  NULL};
    pid_t pid;

    fake_start(f, p->folder);
    pid = start(p, args);
    wait_for_rois(f, 64);
    return pid;
}

/* RoIs that are answered Busy are not sent again after SIGTERM, and nobody waits for them. */
static void a_stop_gives_up_what_is_busy(void **state)
{
    struct place *p = *state;
    struct fake f = {.fault = FAKE_BUSY_ALL, .every = 1};
    const pid_t pid = start_against(p, &f, "1000");

    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(finish_soon(p, pid), 0);
    wants(p, "sent        64 RoIs");
    wants(p, "not taken   64 RoIs, answered Busy to the end");
    wants(p, "lost        0");
    fake_stop(&f);
}

/* With the daemon gone nobody waits, and the sentence says so. */
static void a_stop_without_a_daemon_ends_at_once(void **state)
{
    struct place *p = *state;
    struct fake f = {.fault = FAKE_DROP, .every = 1};
    const pid_t pid = start_against(p, &f, "100000");

    fake_stop(&f);
    usleep(100000); /* it notices */
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(finish_soon(p, pid), 1);
    wants(p, "trigreplay: stopped while the daemon was gone: 64 RoIs were lost, 0 events, 0 not "
             "taken, 0 not sent");
}

/* The answers that are missing are waited for, until the second signal. */
static void the_second_interrupt_does_not_wait(void **state)
{
    struct place *p = *state;
    struct fake f = {.fault = FAKE_DROP, .every = 1};
    const pid_t pid = start_against(p, &f, "100000");

    assert_int_equal(kill(pid, SIGINT), 0);
    usleep(400000);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(finish_soon(p, pid), 1);
    wants(p, "trigreplay: stopped: 64 RoIs were lost, 0 events, 0 not taken, 0 not sent");
    fake_stop(&f);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)
    const struct CMUnitTest tests[] = {
        CASE(wrong_usage_gets_a_sentence),
        CASE(a_daemon_that_is_not_there_is_told),
        CASE(generate_and_show),
        CASE(a_file_is_replayed_once_with_its_truth),
        CASE(losses_end_with_code_1),
        CASE(an_interrupt_ends_with_the_report),
        CASE(presets_name_what_they_make),
        CASE(import_and_show),
        CASE(a_stop_gives_up_what_is_busy),
        CASE(a_stop_without_a_daemon_ends_at_once),
        CASE(the_second_interrupt_does_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

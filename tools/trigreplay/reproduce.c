/* SPDX-License-Identifier: Apache-2.0 */
#include "reproduce.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "resend.h"
#include "roifile.h"
#include "same_decision.h"
#include "sequence.h"

#define LOOK_NS   20000000 /* between two looks at the daemon */
#define ANSWER_MS 120000   /* for one RoI: its worker ends twice, and starts again */

struct scratch {
    char folder[64];
    pid_t daemon;
};

/* ---------------------------------------------------------------- the daemon */

static void exec_daemon(const struct scratch *s, const struct reproduce_files *with)
{
    const struct {
        const char *option, *file;
    } files[] = {{"--config", with->config},
                 {"--scratch", s->folder},
                 {"--menu", with->menu},
                 {"--prescales", with->prescales},
                 {"--conditions", with->conditions}};
    const char *args[2 + 2 * sizeof files / sizeof *files] = {NULL};
    size_t n_args = 1;
    char program[PATH_MAX], log[128], *slash;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 8);
    int fd;

    snprintf(log, sizeof log, "%s/log", s->folder);
    fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    program[n > 0 ? n : 0] = '\0';
    slash = strrchr(program, '/');
    if (fd < 0 || !slash || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
        return;
    memcpy(slash, "/trigd", sizeof "/trigd"); /* room is kept above */
    dup2(fd, STDERR_FILENO);
    dup2(fd, STDOUT_FILENO);
    args[0] = program;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (!files[i].file)
            continue;
        args[n_args++] = files[i].option;
        args[n_args++] = files[i].file;
    }
    execv(program, (char *const *)(uintptr_t)args);
}

static bool is_up(const struct scratch *s)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool up;

    snprintf(a.sun_path, sizeof a.sun_path, "%s/control", s->folder);
    up = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return up;
}

static void print_log(const struct scratch *s)
{
    char path[128], line[1024];
    FILE *f;

    snprintf(path, sizeof path, "%s/log", s->folder);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        fputs(line, stderr);
    if (f)
        fclose(f);
}

static int start(struct scratch *s, const struct reproduce_files *with)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};

    s->daemon = fork();
    if (s->daemon < 0)
        return -errno;
    if (!s->daemon) {
        exec_daemon(s, with);
        _exit(127); /* lint: the child that could not become a daemon */
    }
    while (!is_up(s)) {
        if (waitpid(s->daemon, NULL, WNOHANG) == s->daemon) {
            s->daemon = 0;
            print_log(s);
            fprintf(stderr,
                    "trigreplay: trigd does not start with these files; its log is above\n");
            return -ECHILD;
        }
        nanosleep(&look, NULL);
    }
    return 0;
}

static void stop(struct scratch *s)
{
    if (s->daemon <= 0)
        return;
    kill(s->daemon, SIGTERM);
    while (waitpid(s->daemon, NULL, 0) < 0 && errno == EINTR) {
    }
    s->daemon = 0;
}

/* ---------------------------------------------------------------- comparing */

/* The next RoI of a file, owned by the caller; NULL at the end. */
static Trigd__V1__RoiBatch *next(struct roifile_reader *f)
{
    const void *bytes;
    size_t n;

    if (!f || roifile_next(f, &bytes, &n) != 1)
        return NULL;
    return trigd__v1__roi_batch__unpack(NULL, n, bytes);
}

static void drop(Trigd__V1__RoiBatch *b)
{
    if (b)
        trigd__v1__roi_batch__free_unpacked(b, NULL);
}

static const char *reason(const Trigd__V1__Roi *r)
{
    return r->kept ? r->kept->reason : "no reason is kept";
}

static bool is_same(const Trigd__V1__Roi *a, const Trigd__V1__Roi *b)
{
    return a->run == b->run && a->l1id == b->l1id && a->roi_id == b->roi_id;
}

/* Walks both files; RoIs of the first that are not in the second did not fail this time. */
static int compare(struct roifile_reader *before, struct roifile_reader *now)
{
    Trigd__V1__RoiBatch *a, *b = next(now);
    int n_other = 0;

    while ((a = next(before)) != NULL) {
        const Trigd__V1__Roi *was = a->rois[0];
        const bool is_there = b && is_same(was, b->rois[0]);
        const char *end = is_there ? reason(b->rois[0]) : "decided by its chains";
        const bool same = is_there && !strcmp(end, reason(was));

        printf("run %u l1id %u roi %u: ", was->run, was->l1id, was->roi_id);
        if (same)
            printf("the same: %s\n", end);
        else
            printf("before: %s; now: %s\n", reason(was), end);
        n_other += !same;
        if (is_there) {
            drop(b);
            b = next(now);
        }
        drop(a);
    }
    drop(b);
    return n_other;
}

/* What the scratch daemon wrote; NULL: nothing failed. */
static struct roifile_reader *open_new(const struct scratch *s)
{
    struct roifile_reader *f = NULL;
    char folder[80], path[512] = "";
    const struct dirent *e;
    DIR *d;

    snprintf(folder, sizeof folder, "%s/debug", s->folder);
    d = opendir(folder);
    while (d && (e = readdir(d)) != NULL)
        if (strstr(e->d_name, ".roi"))
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (d)
        closedir(d);
    return path[0] && roifile_open(path, &f) == 0 ? f : NULL;
}

/* ---------------------------------------------------------------- the whole */

static int run_failed(struct scratch *s, const char *file, const struct reproduce_files *with)
{
    struct roifile_reader *before, *now;
    char endpoint[128];
    int r = roifile_open(file, &before);

    if (r < 0)
        return r;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", s->folder);
    r = start(s, with);
    if (r == 0)
        r = resend(endpoint, file, &(struct resending){.answer_ms = ANSWER_MS, .window = 1});
    stop(s);
    if (r == 0) {
        now = open_new(s);
        r = compare(before, now);
        if (now)
            roifile_close(now);
    }
    roifile_close(before);
    return r;
}

struct keys { /* of what decided an RoI */
    uint64_t menu, prescales, conditions;
};

static struct keys keys_of(const Trigd__V1__Decision *d)
{
    return (struct keys){d->menu_key, d->prescale_key, d->conditions_key};
}

static bool are_equal(struct keys a, struct keys b)
{
    return a.menu == b.menu && a.prescales == b.prescales && a.conditions == b.conditions;
}

struct tally { /* of a stream of decided RoIs */
    const struct reproduce_files *with;
    const struct keys *of; /* RoIs that these decided alone; NULL: as `with` says */
    uint64_t n_same, n_other, n_without, n_elsewhere;
};

/* Whether other prescales or conditions than those that were asked for decided an RoI. */
static bool is_elsewhere(const struct tally *t, const Trigd__V1__Decision *before,
                         const Trigd__V1__Decision *now)
{
    if (t->of)
        return !are_equal(*t->of, keys_of(before));
    return now && ((t->with->prescales && before->prescale_key != now->prescale_key) ||
                   (t->with->conditions && before->conditions_key != now->conditions_key));
}

static void take_answer(void *ctx, const Trigd__V1__Roi *roi, const Trigd__V1__Decision *now)
{
    struct tally *t = ctx;
    char difference[256];

    if (!roi->kept || !roi->kept->decision) {
        t->n_without++;
        return;
    }
    if (is_elsewhere(t, roi->kept->decision, now)) {
        t->n_elsewhere++;
        return;
    }
    if (same_decision(roi->kept->decision, now, difference, sizeof difference)) {
        t->n_same++;
        return;
    }
    t->n_other++;
    printf("run %u l1id %u roi %u: %s\n", roi->run, roi->l1id, roi->roi_id, difference);
}

static void print_tally(const struct tally *t)
{
    printf("%llu RoIs decided as before, %llu otherwise", (unsigned long long)t->n_same,
           (unsigned long long)t->n_other);
    if (t->n_without)
        printf(", %llu have no decision in the file", (unsigned long long)t->n_without);
    if (t->n_elsewhere)
        printf(", %llu were decided by other prescales or conditions",
               (unsigned long long)t->n_elsewhere);
    putchar('\n');
}

/* Decides all of them again. */
static int decide(struct scratch *s, const char *path, struct tally *t)
{
    const struct resending how = {
        .answer_ms = ANSWER_MS, .window = RESEND_WINDOW, .answer = take_answer, .ctx = t};
    char endpoint[128];
    int r = start(s, t->with);

    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", s->folder);
    if (r == 0)
        r = resend(endpoint, path, &how);
    stop(s);
    return r;
}

static int run_decided(struct scratch *s, const char *path, const struct reproduce_files *with)
{
    struct tally t = {.with = with};
    int r = decide(s, path, &t);

    if (r < 0)
        return r;
    print_tally(&t);
    return t.n_other + t.n_without || !t.n_same ? 1 : 0;
}

/* ---------------------------------------------------------------- with what decided each RoI */

static int add_keys(struct keys **list, uint32_t *n, struct keys keys)
{
    struct keys *more;

    for (uint32_t i = 0; i < *n; i++)
        if (are_equal((*list)[i], keys))
            return 0;
    more = realloc(*list, (*n + (size_t)1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    *list = more;
    more[(*n)++] = keys;
    return 0;
}

/* All that decided RoIs of a stream, in order. */
static int find_keys(const char *path, struct keys **ret_list, uint32_t *ret_n)
{
    struct sequence *in;
    Trigd__V1__Roi *roi;
    int r = sequence_open(path, &in);

    if (r < 0)
        return r;
    while ((r = sequence_next(in, &roi)) == 1) {
        if (roi->kept && roi->kept->decision)
            r = add_keys(ret_list, ret_n, keys_of(roi->kept->decision));
        if (r < 0)
            break;
    }
    sequence_close(in);
    return r;
}

/* The file of a set, which must be there. */
static int name_set(const char *folder, const char *what, uint64_t key, char to[PATH_MAX])
{
    snprintf(to, PATH_MAX, "%s/%s-%016llx.yaml", folder, what, (unsigned long long)key);
    if (access(to, R_OK) == 0)
        return 0;
    fprintf(stderr, "trigreplay: %s: %s; RoIs of the stream were decided by it\n", to,
            strerror(errno));
    return -ENOENT;
}

static int decide_with(struct scratch *s, const char *path, const struct reproduce_files *with,
                       const struct keys *of, struct tally *sum)
{
    char menu[PATH_MAX], prescales[PATH_MAX], conditions[PATH_MAX];
    const struct reproduce_files files = {with->config, menu, prescales, conditions, NULL};
    struct tally t = {.with = &files, .of = of};
    int r = name_set(with->sets, "menu", of->menu, menu);

    if (r == 0)
        r = name_set(with->sets, "prescales", of->prescales, prescales);
    if (r == 0)
        r = name_set(with->sets, "conditions", of->conditions, conditions);
    if (r == 0)
        r = decide(s, path, &t);
    sum->n_same += t.n_same;
    sum->n_other += t.n_other;
    sum->n_without = t.n_without; /* the same ones each time */
    return r;
}

static int run_sets(struct scratch *s, const char *path, const struct reproduce_files *with)
{
    struct tally sum = {.with = with};
    struct keys *list = NULL;
    uint32_t n = 0;
    int r = find_keys(path, &list, &n);

    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = decide_with(s, path, with, &list[i], &sum);
    free(list);
    if (r < 0)
        return r;
    printf("%u sets of menu, prescales and conditions: ", n);
    print_tally(&sum);
    return sum.n_other + sum.n_without || !sum.n_same ? 1 : 0;
}

/* Whether the RoIs failed; those of other streams were decided. */
static int is_debug(const char *path, bool *ret_is)
{
    struct sequence *in;
    int r = sequence_open(path, &in);

    if (r < 0)
        return r;
    *ret_is = !strcmp(sequence_header(in)->stream, "debug") || !sequence_header(in)->stream[0];
    sequence_close(in);
    return 0;
}

static int run(struct scratch *s, const char *path, const struct reproduce_files *with)
{
    bool failed = false;
    int r = is_debug(path, &failed);

    if (r < 0)
        return r;
    if (failed)
        return run_failed(s, path, with);
    return with->sets ? run_sets(s, path, with) : run_decided(s, path, with);
}

int reproduce(const char *file, const struct reproduce_files *with)
{
    struct scratch s = {.folder = "/tmp/trigreplay-XXXXXX"};
    int r;

    if (!mkdtemp(s.folder))
        return -errno;
    r = run(&s, file, with);
    if (r < 0 && r != -ECHILD) /* that was told */
        fprintf(stderr, "trigreplay: cannot replay %s with %s: %s\n", file, with->config,
                roifile_why(r));
    if (folder_remove(s.folder) < 0)
        fprintf(stderr, "trigreplay: cannot remove %s\n", s.folder);
    return r;
}

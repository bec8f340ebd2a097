/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP page over real connections: metrics, health, readiness, bad requests. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"
#include "log.h"
#include "monitor/http.h"
#include "monitor/show.h"

static struct fixture f;
static struct http *http;
static unsigned port;
static char local[64]; /* the Unix socket */

/* The port is told in the log only: it is read from there, as an operator would. */
static int start_and_read_port(void)
{
    FILE *log = tmpfile();
    char text[4096], *url;
    int keep = dup(STDERR_FILENO), r;
    size_t n;

    if (!log || keep < 0)
        return -1;
    fflush(stderr);
    dup2(fileno(log), STDERR_FILENO);
    r = http_start(&f.view, &http);
    fflush(stderr);
    dup2(keep, STDERR_FILENO);
    close(keep);
    rewind(log);
    n = fread(text, 1, sizeof text - 1, log);
    text[n] = '\0';
    fclose(log);
    url = strstr(text, "url=http://127.0.0.1:");
    return r == 0 && url && sscanf(url, "url=http://127.0.0.1:%u/metrics", &port) == 1 ? 0 : -1;
}

static int set_up(void **state)
{
    (void)state;
    if (fixture_init(&f) < 0)
        return -1;
    f.config.control.socket = "";
    f.config.http.address = "127.0.0.1";
    f.config.http.port = 0;
    snprintf(local, sizeof local, "/tmp/trigd-http-%d", (int)getpid());
    f.config.http.socket = local;
    return start_and_read_port();
}

static int tear_down(void **state)
{
    (void)state;
    http_stop(http);
    http_stop(NULL);
    fixture_fini(&f);
    return 0;
}

/* Sends a request over a socket that is connected there, which it closes; the whole response, which
 * the caller frees. */
static char *request_at(const struct sockaddr *there, socklen_t bytes, const char *text)
{
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(there->sa_family, SOCK_STREAM, 0);
    size_t n = 0, room = 1u << 20;
    char *answer = malloc(room);
    ssize_t got;

    assert_non_null(answer);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    assert_int_equal(connect(fd, there, bytes), 0);
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    while ((got = recv(fd, answer + n, room - n - 1, 0)) > 0)
        n += (size_t)got;
    assert_int_equal(got, 0);
    answer[n] = '\0';
    close(fd);
    return answer;
}

static char *request(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    return request_at((const struct sockaddr *)&a, sizeof a, text);
}

static char *get(const char *path)
{
    char text[256];

    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path);
    return request(text);
}

static void expect(const char *path, const char *status, const char *body)
{
    char *answer = get(path);

    if (strncmp(answer, status, strlen(status)) != 0 || !strstr(answer, body))
        fail_msg("%s: not %s with \"%s\":\n%s", path, status, body, answer);
    free(answer);
}

/* The text of the cells of a row of the page, each in brackets: what is markup goes. */
static void plain_row(const char *row, char *ret_text, size_t bytes)
{
    const char *end = strstr(row, "</tr>");
    bool is_markup = false, is_mark = false; /* marks are for the eye */
    size_t n = 0;

    for (; row < end && n + 8 < bytes; row++) {
        if (*row == '<') {
            is_mark = strncmp(row, "<span", 5) == 0;
            if (!strncmp(row, "<t", 2))
                ret_text[n++] = '[';
            else if (!strncmp(row, "</t", 3))
                ret_text[n++] = ']';
            is_markup = true;
        } else if (*row == '>') {
            is_markup = false;
        } else if (!is_markup && !is_mark) {
            ret_text[n++] = *row;
        }
    }
    ret_text[n] = '\0';
}

/* Each cell of the table stands in the page, in its row below its caption. */
static void same_numbers(const char *page, const char *caption,
                         void (*show)(const struct control_view *v, struct table *t))
{
    char text[4096], wanted[256];
    struct table t;
    const char *row;

    snprintf(wanted, sizeof wanted, "<caption>%s</caption>", caption);
    row = strstr(page, wanted);
    if (!row)
        fail_msg("no table %s", caption);
    table_init(&t);
    show(&f.view, &t);
    assert_true(t.n_cells > 0);
    row = strstr(row, "<tbody>");
    for (uint32_t i = 0; i < t.n_cells; i++) {
        const char *at = text;

        if (i % t.n_columns == 0) {
            row = strstr(row + 1, "<tr>") + 4;
            plain_row(row, text, sizeof text);
        }
        for (uint32_t c = 0; c < i % t.n_columns; c++)
            at = strchr(at, ']') + 1;
        snprintf(wanted, sizeof wanted, "[%s]", t.cell[i]);
        if (strncmp(at, wanted, strlen(wanted)) != 0 && !strpbrk(t.cell[i], "\"<>&"))
            fail_msg("%s: %s instead of %s", caption, at, wanted);
    }
    table_fini(&t);
}

static void test_page(void **state)
{
    char *page = get("/"), *tables = get("/tables?window=60s");

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        const char *text = i ? tables : page;

        same_numbers(text, "show ledger", show_ledger);
        same_numbers(text, "show chains", show_chains);
        same_numbers(text, "show lanes", show_lanes);
        same_numbers(text, "show workers", show_workers);
        same_numbers(text, "show clients", show_clients);
        same_numbers(text, "show latency", show_latency);
        assert_non_null(strstr(text, "Cache-Control: no-store\r\n"));
    }
    free(page);
    free(tables);
    expect("/tables?window=2s", "HTTP/1.1 400", "1s, 10s and 60s are allowed");
    expect("/?window=", "HTTP/1.1 400", "no such window");
}

/* Nothing runs but what has the nonce of this answer; a client's name is text. */
static void test_page_is_guarded(void **state)
{
    struct stats_client *evil = stats_client_get(f.stats, "<script>x\"&</script>");
    char *first = get("/"), *second = get("/"), *at, nonce[33] = "";

    (void)state;
    at = strstr(first, "\r\nContent-Security-Policy: default-src 'none'; script-src 'nonce-");
    assert_non_null(at);
    assert_int_equal(sscanf(strstr(at, "nonce-"), "nonce-%32[0-9a-f]'", nonce), 1);
    assert_int_equal(strlen(nonce), 32);
    assert_null(strstr(second, nonce));
    assert_null(strstr(first, "<script>"));
    assert_null(strstr(first, " style="));
    assert_null(strstr(first, "://")); /* nothing comes from elsewhere */
    assert_non_null(strstr(first, "&lt;script&gt;x&quot;&amp;&lt;/script&gt;"));
    stats_client_put(f.stats, evil);
    free(first);
    free(second);
}

static void test_health(void **state)
{
    (void)state;
    expect("/healthz", "HTTP/1.1 200", "\r\n\r\nok\n");
    f.is_live = false;
    expect("/healthz", "HTTP/1.1 503", "the loop does not turn");
    f.is_live = true;
}

static void test_ready(void **state)
{
    static const char *const not_ready[] = {"starting", "draining", "drained", "stopping"};

    (void)state;
    expect("/readyz", "HTTP/1.1 200", "\r\n\r\nready");
    for (size_t i = 0; i < sizeof not_ready / sizeof *not_ready; i++) {
        f.state = not_ready[i];
        expect("/readyz", "HTTP/1.1 503", not_ready[i]);
    }
    f.state = "ready";
    stats_set(&f.stats->g.steps_down, 1);
    expect("/readyz", "HTTP/1.1 503", "a step has no lane");
    stats_set(&f.stats->g.steps_down, 0);
}

static void test_pages(void **state)
{
    char *answer;

    (void)state;
    expect("/", "HTTP/1.1 200", "<!doctype html>");
    expect("/nothing", "HTTP/1.1 404", "/healthz");
    answer = request("POST /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                     "Content-Length: 3\r\n\r\nabc");
    assert_int_equal(strncmp(answer, "HTTP/1.1 405", 12), 0);
    free(answer);
    answer = request("no request at all\r\n\r\n");
    assert_null(strstr(answer, "trigd_received_total"));
    free(answer);
    expect("/healthz", "HTTP/1.1 200", "ok");
}

static void has_line(const char *page, const char *line)
{
    char whole[512];

    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr(page, whole))
        fail_msg("no line \"%s\" in the page:\n%s", line, page);
}

static void test_metrics(void **state)
{
    char *page = get("/metrics");

    (void)state;
    assert_non_null(strstr(page, "Content-Type: text/plain; version=0.0.4"));
    has_line(page, "trigd_received_total 100");
    has_line(page, "trigd_in_flight 7");
    has_line(page, "trigd_chain_pass_total{chain=\"HLT_a\"} 2005");
    has_line(page, "trigd_chain_prescale{chain=\"HLT_a\"} 2.5");
    has_line(page, "trigd_step_queued{step=\"step_a\"} 3008");
    has_line(page, "trigd_lane_busy_seconds_total{lane=\"step_a@cpu:0/0\"} 0.000004004");
    has_line(page, "trigd_client_credits{client=\"client-a\"} 5007");
    has_line(page, "# TYPE trigd_stage_seconds histogram");
    has_line(page, "trigd_stage_seconds_count{stage=\"total\"} 1000");
    has_line(page, "trigd_stage_seconds_sum{stage=\"total\"} 0.500500000");
    has_line(page, "trigd_stage_seconds_bucket{stage=\"total\",le=\"+Inf\"} 1000");
    has_line(page, "trigd_lane_seconds_count{lane=\"step_a@cpu:0/0\"} 1");
    free(page);
}

static void test_histograms_of_the_menu(void **state)
{
    char *page = get("/metrics");

    (void)state;
    has_line(page, "# TYPE trigd_menu_entries histogram");
    has_line(page, "trigd_menu_entries_bucket{histogram=\"z\",le=\"-1\"} 3");
    has_line(page,
             "trigd_menu_entries_bucket{histogram=\"z\",le=\"-0.8\"} 6"); /* two bins in one */
    has_line(page, "trigd_menu_entries_bucket{histogram=\"z\",le=\"3\"} 8");
    has_line(page, "trigd_menu_entries_bucket{histogram=\"z\",le=\"+Inf\"} 13");
    has_line(page, "trigd_menu_entries_count{histogram=\"z\"} 13");
    has_line(page,
             "trigd_menu_entries_sum{histogram=\"z\"} 3.15"); /* 2 * -0.95 - 0.85 + 2 * 2.95 */
    has_line(page, "trigd_menu_entries_nan{histogram=\"z\"} 7");
    has_line(page, "trigd_menu_entries_bucket{histogram=\"flat\",le=\"-1\"} 12"); /* 0 + 4 + 8 */
    has_line(page, "trigd_menu_entries_bucket{histogram=\"flat\",le=\"1\"} 27"); /* and 1 + 5 + 9 */
    has_line(page, "trigd_menu_entries_count{histogram=\"flat\"} 66");
    free(page);
}

/* Every family has its HELP and its TYPE once, and each series is there once. */
static void test_families(void **state)
{
    char *page = get("/metrics"), *body = strstr(page, "\r\n\r\n");
    uint32_t n_families = 0;

    (void)state;
    assert_non_null(body);
    for (char *line = body + 4; *line; line += strcspn(line, "\n") + 1) {
        size_t n = strncmp(line, "# ", 2) ? strcspn(line, " ") : strcspn(line + 7, " ") + 7;
        char key[512];

        assert_true(n + 3 < sizeof key);
        snprintf(key, sizeof key, "\n%.*s ", (int)n, line);
        if (strstr(line, key))
            fail_msg("twice:%s", key);
        n_families += !strncmp(line, "# TYPE ", 7);
    }
    assert_true(n_families > 40);
    free(page);
}

static void test_buckets(void **state)
{
    char *page = get("/metrics"), *line = page;
    unsigned long long last = 0, n;
    double bound, before = 0;
    uint32_t count = 0;

    (void)state;
    while ((line = strstr(line, "\ntrigd_stage_seconds_bucket{stage=\"total\",le=\"")) != NULL) {
        line += strlen("\ntrigd_stage_seconds_bucket{stage=\"total\",le=\"");
        if (sscanf(line, "%lf\"} %llu", &bound, &n) != 2)
            fail_msg("no bucket: %.40s", line);
        assert_true(bound > before && n >= last); /* "+Inf" reads as infinity */
        if (bound < 1e-3)                         /* durations were 1, 2, ... 1000 us */
            assert_true((double)n >= bound * 1e6 * 0.85 && (double)n <= bound * 1e6 * 1.01);
        before = bound;
        last = n;
        count++;
    }
    assert_int_equal(last, 1000);
    assert_true(count > 10 && count <= 24);
    free(page);
}

/* Names with quotes and the like, and two clients of one name, leave a page that can be read. */
static void test_labels(void **state)
{
    struct stats_client *a = stats_client_get(f.stats, "odd \"name\" \\ here");
    struct stats_client *b = stats_client_get(f.stats, "twin"),
                        *c = stats_client_get(f.stats, "twin");
    char *page;

    (void)state;
    stats_set(&a->received, 11);
    stats_set(&b->received, 20);
    stats_set(&c->received, 22);
    page = get("/metrics");
    has_line(page, "trigd_client_received_total{client=\"odd \\\"name\\\" \\\\ here\"} 11");
    has_line(page, "trigd_client_received_total{client=\"twin\"} 42");
    free(page);
    test_families(state);
    stats_client_put(f.stats, a);
    stats_client_put(f.stats, b);
    stats_client_put(f.stats, c);
}

static void test_promtool(void **state)
{
    FILE *tool;
    int r;

    (void)state;
    if (access("/usr/bin/promtool", X_OK) != 0)
        skip();
    tool = popen("/usr/bin/promtool check metrics", "w");
    assert_non_null(tool);
    http_metrics(&f.view, tool);
    r = pclose(tool);
    assert_int_equal(r, 0);
}

#define DRIPPING 200
#define MANY     1100 /* descriptors: more than select(2) can look at */

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void expect_health(void)
{
    char *answer = request("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

    if (!strstr(answer, "200 OK"))
        fail_msg("no health: %s", answer);
    free(answer);
}

/* Requests that come in drips and never end keep nobody out. */
static void test_dripping(void **state)
{
    int fd[DRIPPING];

    (void)state;
    for (int i = 0; i < DRIPPING; i++) {
        fd[i] = dial();
        send(fd[i], "GET /metr", 9, MSG_NOSIGNAL);
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < DRIPPING; i++)
            send(fd[i], "i", 1, MSG_NOSIGNAL);
        expect_health();
    }
    for (int i = 0; i < DRIPPING; i++)
        close(fd[i]);
}

static void test_many_descriptors(void **state)
{
    struct rlimit limit;
    int fd[MANY], n = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < MANY + 200)
        skip();
    limit.rlim_cur = MANY + 200;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (n < MANY && (fd[n] = dup(STDERR_FILENO)) >= 0)
        n++;
    assert_int_equal(n, MANY);
    expect_health();
    expect_health();
    while (n)
        close(fd[--n]);
}

/* The same pages over a Unix socket, which the daemon's user and group may open. */
static void test_local_socket(void **state)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct http *other = NULL;
    struct stat file;
    char *answer;

    (void)state;
    snprintf(a.sun_path, sizeof a.sun_path, "%s", local);
    assert_int_equal(lstat(local, &file), 0);
    assert_int_equal(file.st_mode & 07777, 0660);
    answer = request_at((const struct sockaddr *)&a, sizeof a,
                        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    assert_non_null(strstr(answer, "\r\n\r\nok\n"));
    free(answer);
    expect("/healthz", "HTTP/1.1 200 ", "ok");
    assert_int_equal(http_start(&f.view, &other), -EADDRINUSE); /* another daemon has it */
    assert_int_equal(lstat(local, &file), 0);
}

static void test_wrong_address(void **state)
{
    struct http *other = NULL;
    enum trg_level level = log_level();
    struct config config = f.config;
    struct control_view view = f.view;

    (void)state;
    view.config = &config;
    config.http.address = "not an address";
    assert_int_equal(http_start(&view, &other), -EINVAL);
    config.http.socket = "";
    config.http.address = "127.0.0.1";
    config.http.port = (uint16_t)port; /* taken by the one above */
    assert_true(http_start(&view, &other) < 0);
    assert_null(other);
    log_set_level(level);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_page_is_guarded),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_histograms_of_the_menu),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_promtool),
        cmocka_unit_test(test_dripping),
        cmocka_unit_test(test_many_descriptors),
        cmocka_unit_test(test_local_socket),
        cmocka_unit_test(test_wrong_address),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines: levels, quoting, one line each, repeats held back and counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture.h"
#include "clock.h"
#include "log.h"

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;

    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        n++;
    return n;
}

static void a_line_has_its_fields(void **state)
{
    const char *text;

    (void)state;
    capture_start(2);
    log_warn("ingress", "client overran", "client=%s rois=%u", "rep-1", 3u);
    text = capture_end();
    assert_int_equal(strncmp(text, "ts=2", 4), 0);
    assert_non_null(strstr(text, "Z level=warn comp=ingress msg=\"client overran\" "
                                 "client=rep-1 rois=3\n"));
    assert_int_equal(count(text, "\n"), 1);
}

static void text_cannot_break_a_line(void **state)
{
    const char *text;

    (void)state;
    capture_start(2);
    log_error("x", "a \"quoted\" \\ word\nlevel=info", "why=\"one\ntwo\"%s", "");
    text = capture_end();
    assert_int_equal(count(text, "\n"), 1);
    assert_non_null(strstr(text, "msg=\"a \\\"quoted\\\" \\\\ word\\x0alevel=info\""));
    assert_non_null(strstr(text, "why=\"one two\"\n"));
}

static void a_long_line_is_cut_and_ended(void **state)
{
    static char word[5000];
    const char *text;

    (void)state;
    memset(word, 'a', sizeof word - 1);
    capture_start(2);
    log_error("x", "long", "word=%s", word);
    log_error("x", "next", "%s", "");
    text = capture_end();
    assert_int_equal(count(text, "\n"), 2);
    assert_non_null(strstr(text, "\nts="));
}

static void levels_filter_and_count(void **state)
{
    static const enum trg_level all[] = {TRG_ERROR, TRG_WARN, TRG_INFO, TRG_DEBUG};
    enum trg_level level = TRG_DEBUG;
    uint64_t debugs = log_count(TRG_DEBUG);
    const char *text;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(log_level_parse(log_level_name(all[i]), &level), 0);
        assert_int_equal(level, all[i]);
    }
    assert_int_equal(log_level_parse("warning", &level), -EINVAL);
    assert_int_equal(level, TRG_DEBUG); /* untouched */
    log_set_level(TRG_WARN);
    assert_int_equal(log_level(), TRG_WARN);
    capture_start(2);
    log_debug("x", "hidden", "%s", "");
    log_info("x", "hidden", "%s", "");
    log_warn("x", "shown", "%s", "");
    text = capture_end();
    log_set_level(TRG_INFO);
    assert_null(strstr(text, "hidden"));
    assert_non_null(strstr(text, "shown"));
    assert_int_equal(log_count(TRG_DEBUG), debugs + 1);
}

/* Begins a fresh second, so that the burst falls into one window. */
static void await_second(void)
{
    while (clock_ns() % NS_PER_S > NS_PER_S / 2) {
    }
}

static void repeats_are_held_back_and_told(void **state)
{
    struct log_site site = {0};
    uint64_t errors = log_count(TRG_ERROR);
    const char *text;

    (void)state;
    await_second();
    capture_start(2);
    for (unsigned i = 0; i < LOG_BURST + 20; i++)
        log_line(&site, TRG_ERROR, "x", "again", "i=%u", i);
    text = capture_end();
    assert_int_equal(count(text, "again"), LOG_BURST);
    assert_int_equal(log_count(TRG_ERROR), errors + LOG_BURST + 20);
    atomic_store(&site.window, 1); /* as if that second were over */
    capture_start(2);
    log_line(&site, TRG_ERROR, "x", "again", "%s", "");
    log_line(&site, TRG_ERROR, "x", "again", "%s", "");
    text = capture_end();
    assert_int_equal(count(text, "suppressed=20"), 1);
}

/* One object a line: numbers stay numbers, what breaks JSON is escaped, a value may hold quotes. */
static void json_lines(void **state)
{
    const char *text;

    (void)state;
    log_set_format(LOG_JSON);
    capture_start(2);
    log_error("x", "a \"b\" \\",
              "n=-1.5e3 zero=007 name=\"c d\" odd=\"say \"hi\" now\" path=/a\\b x=%s", "y\nz");
    text = capture_end();
    log_set_format(LOG_LOGFMT);
    assert_int_equal(strncmp(text, "{\"ts\":\"20", 9), 0);
    assert_non_null(strstr(text, "Z\",\"level\":\"error\",\"comp\":\"x\","
                                 "\"msg\":\"a \\\"b\\\" \\\\\",\"n\":-1.5e3,\"zero\":\"007\","
                                 "\"name\":\"c d\",\"odd\":\"say \\\"hi\\\" now\","
                                 "\"path\":\"/a\\\\b\",\"x\":\"y\",\"text\":\"z\"}\n"));
}

/* What is too long is left out member by member, and the line is still an object. */
static void a_long_json_line_ends_well(void **state)
{
    char word[4000];
    const char *text;

    (void)state;
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    log_set_format(LOG_JSON);
    capture_start(2);
    log_error("x", "long", "kept=1 word=%s", word);
    log_error("x", word, "kept=1");
    text = capture_end();
    log_set_format(LOG_LOGFMT);
    assert_int_equal(count(text, "\n"), 2);
    assert_int_equal(count(text, "}\n"), 2);
    assert_non_null(strstr(text, ",\"msg\":\"long\",\"kept\":1}\n"));
    assert_non_null(strstr(text, "w\"}\n"));
}

/* ---------------------------------------------------------------- the journal */

static char journal[64];

/* A journal of the test's own. */
static int open_journal(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    snprintf(journal, sizeof journal, "/tmp/trigd-journal-%d", (int)getpid());
    snprintf(a.sun_path, sizeof a.sun_path, "%s", journal);
    setenv("TRIGD_JOURNAL_SOCKET", journal, 1);
    unlink(journal);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

static void close_journal(int fd)
{
    log_set_format(LOG_LOGFMT);
    close(fd);
    unlink(journal);
}

static void the_journal_gets_fields(void **state)
{
    const int fd = open_journal();
    char text[4096];
    ssize_t n;

    (void)state;
    assert_int_equal(log_take("x", "info", "journald"), 0);
    capture_start(2);
    log_warn("ingress", "client\nleft", "client=\"rep 1\" in_flight=%u odd-key=é word", 3u);
    assert_string_equal(capture_end(), "");
    n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(
        text, "MESSAGE=client left client=\"rep 1\" in_flight=3 odd-key=é word\nPRIORITY=4\n"
              "SYSLOG_IDENTIFIER=test_config_log\nTRIGD_LEVEL=warn\nTRIGD_COMP=ingress\n"
              "TRIGD_MSG=client left\nTRIGD_CLIENT=rep 1\nTRIGD_IN_FLIGHT=3\n"
              "TRIGD_ODD_KEY=é\nTRIGD_TEXT=word\n");
    close_journal(fd);
}

static void a_long_entry_keeps_whole_fields(void **state)
{
    const int fd = open_journal();
    char word[2040], text[8192];
    ssize_t n;

    (void)state;
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_int_equal(log_take("x", "info", "journald"), 0);
    log_error("x", word, "kept=1 %s", word);
    n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    assert_true(n > 0 && n <= 6144);
    text[n] = '\0';
    assert_int_equal(text[n - 1], '\n');
    assert_non_null(strstr(text, "\nTRIGD_KEPT=1\n"));
    close_journal(fd);
}

/* What a journal that stands still does not take is on stderr, and nothing waits. */
static void a_full_journal_loses_nothing(void **state)
{
    const int fd = open_journal();
    struct log_site site = {0};
    char text[4096];
    const char *rest;
    unsigned n = 0;

    (void)state;
    assert_int_equal(log_take("x", "info", "journald"), 0);
    capture_start(2);
    for (unsigned i = 0; i < 1000; i++) {
        atomic_store(&site.lines, 0);
        log_line(&site, TRG_INFO, "x", "line", "i=%u", i);
    }
    rest = capture_end();
    while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
        n++;
    assert_true(n > 0 && n < 1000);
    assert_int_equal(n + count(rest, "level=info comp=x msg=\"line\" i="), 1000);
    close_journal(fd);
}

static void no_journal_is_an_error(void **state)
{
    const char *text;

    (void)state;
    setenv("TRIGD_JOURNAL_SOCKET", "/tmp/trigd-there-is-none", 1);
    capture_start(2);
    assert_int_equal(log_take("daemon", "info", "journald"), -ENOENT);
    text = capture_end();
    assert_non_null(strstr(text, "msg=\"log.format is journald, and there is no journal\" "
                                 "error=\"No such file or directory\""));
    assert_int_equal(log_format(), LOG_LOGFMT);
    assert_int_equal(log_take("daemon", "info", "syslog"), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_line_has_its_fields),
                                       cmocka_unit_test(text_cannot_break_a_line),
                                       cmocka_unit_test(a_long_line_is_cut_and_ended),
                                       cmocka_unit_test(levels_filter_and_count),
                                       cmocka_unit_test(repeats_are_held_back_and_told),
                                       cmocka_unit_test(json_lines),
                                       cmocka_unit_test(a_long_json_line_ends_well),
                                       cmocka_unit_test(the_journal_gets_fields),
                                       cmocka_unit_test(a_long_entry_keeps_whole_fields),
                                       cmocka_unit_test(a_full_journal_loses_nothing),
                                       cmocka_unit_test(no_journal_is_an_error)};

    unsetenv("JOURNAL_STREAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Options of programs: what is taken, and the sentence for what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "args.h"

static bool flag;
static const char *text;
static struct arg_texts texts;
static uint32_t small;
static uint64_t large;
static double real;
static struct arg_numbers numbers;
static FILE *json;

static const struct arg table[] = {{"flag", ARG_FLAG, &flag, 0, 0, NULL, "a flag"},
                                   {"text", ARG_TEXT, &text, 0, 0, "TEXT", "a text"},
                                   {"texts", ARG_TEXTS, &texts, 0, 0, "TEXT", "several"},
                                   {"small", ARG_U32, &small, 1, 10, "N", "a small number"},
                                   {"large", ARG_U64, &large, 0, 0, "N", "any number"},
                                   {"real", ARG_REAL, &real, 0.5, 2, "X", "a real number"},
                                   {"numbers", ARG_NUMBERS, &numbers, 1, 100, "N,...", "a list"},
                                   {"json", ARG_APPEND, &json, 0, 0, "FILE", "a file"},
                                   {0}};

static int clear(void **state)
{
    (void)state;
    flag = false;
    text = NULL;
    texts = (struct arg_texts){.n = 0};
    small = 7;
    large = 8;
    real = 1;
    numbers = (struct arg_numbers){{9}, 1};
    json = NULL;
    return 0;
}

#define PARSE(...) parse((char *[]){"/bin/program", __VA_ARGS__, NULL})
static int parse(char **argv)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    return args_parse(argc, argv, NULL, table);
}

/* What parsing prints on a stream. */
static char *printed(FILE *stream, char **argv, int expected)
{
    static char buffer[4096];
    FILE *file = tmpfile();
    int keep = dup(fileno(stream));
    size_t n;

    assert_non_null(file);
    fflush(stream);
    assert_true(dup2(fileno(file), fileno(stream)) >= 0);
    assert_int_equal(parse(argv), expected);
    fflush(stream);
    assert_true(dup2(keep, fileno(stream)) >= 0);
    close(keep);
    rewind(file);
    n = fread(buffer, 1, sizeof buffer - 1, file);
    buffer[n] = '\0';
    fclose(file);
    return buffer;
}
#define REFUSED(sentence, ...) \
    assert_string_equal(       \
        printed(stderr, (char *[]){"/bin/program", __VA_ARGS__, NULL}, ARGS_WRONG), sentence)

static void values_are_taken(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--flag", "--text", "--flag", "--small", "10",
                           "--large=0xffffffffffffffff", "--real", "0.5", "--numbers", "1,2,100"),
                     ARGS_OK);
    assert_true(flag);
    assert_string_equal(text, "--flag"); /* the value, whatever it looks like */
    assert_int_equal(small, 10);
    assert_true(large == UINT64_MAX);
    assert_true(real == 0.5);
    assert_int_equal(numbers.n, 3);
    assert_int_equal(numbers.value[2], 100);
}

static void what_is_not_given_stays(void **state)
{
    (void)state;
    assert_int_equal(parse((char *[]){"program", NULL}), ARGS_OK);
    assert_false(flag);
    assert_int_equal(small, 7);
    assert_int_equal(numbers.n, 1);
    assert_int_equal(PARSE("--text="), ARGS_OK);
    assert_string_equal(text, "");
}

static void texts_add_up(void **state)
{
    char *many[2 * ARGS_MOST + 4] = {"program"};

    (void)state;
    assert_int_equal(PARSE("--texts", "a=b", "--texts=c=d"), ARGS_OK);
    assert_int_equal(texts.n, 2);
    assert_string_equal(texts.text[1], "c=d");
    clear(NULL);
    for (uint32_t i = 1; i < 2 * ARGS_MOST + 3; i += 2) {
        many[i] = "--texts";
        many[i + 1] = "x";
    }
    assert_string_equal(printed(stderr, many, ARGS_WRONG),
                        "program: --texts: at most 32 are allowed\n");
}

static void wrong_ones_get_a_sentence(void **state)
{
    (void)state;
    REFUSED("program: there is no option \"--flags\"; --help lists them\n", "--flags");
    REFUSED("program: there is no option \"--fla\"; --help lists them\n", "--fla");
    REFUSED("program: there is no option \"flag\"; --help lists them\n", "flag");
    REFUSED("program: there is no option \"-\"; --help lists them\n", "-");
    REFUSED("program: --flag takes no value\n", "--flag=1");
    REFUSED("program: --small takes a value\n", "--flag", "--small");
    REFUSED("program: --small \"11\": a whole number from 1 to 10 is wanted\n", "--small", "11");
    REFUSED("program: --small \"0\": a whole number from 1 to 10 is wanted\n", "--small", "0");
    REFUSED("program: --small \"3x\": a whole number from 1 to 10 is wanted\n", "--small=3x");
    REFUSED("program: --small \"\": a whole number from 1 to 10 is wanted\n", "--small=");
    REFUSED("program: --large \"-1\": a whole number is wanted\n", "--large", "-1");
    REFUSED("program: --large \"18446744073709551616\": a whole number is wanted\n",
            "--large=18446744073709551616");
    REFUSED("program: --real \"2.01\": a number from 0.5 to 2 is wanted\n", "--real", "2.01");
    REFUSED("program: --real \"nan\": a number from 0.5 to 2 is wanted\n", "--real", "nan");
    REFUSED("program: --numbers \"0\": a whole number from 1 to 100 is wanted\n", "--numbers=1,0");
    REFUSED("program: --numbers \",\": a whole number from 1 to 100 is wanted\n", "--numbers=,");
    REFUSED("program: cannot write /: Is a directory\n", "--json", "/");
    assert_int_equal(small, 7);
}

static void files_are_appended_to(void **state)
{
    char path[] = "/tmp/test-args-XXXXXX", line[16] = "";
    int fd = mkstemp(path);
    FILE *f;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "one\n", 4), 4);
    close(fd);
    assert_int_equal(PARSE("--json", path), ARGS_OK);
    fputs("two\n", json);
    fclose(json);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(line, 1, sizeof line - 1, f), 8);
    fclose(f);
    remove(path);
    assert_string_equal(line, "one\ntwo\n");
}

static void help_lists_all(void **state)
{
    const char *help = printed(stdout, (char *[]){"program", "--help", NULL}, ARGS_HELP);

    (void)state;
    assert_ptr_equal(strstr(help, "usage: program [OPTION ...]\n"), help);
    for (const struct arg *a = table; a->name; a++)
        assert_non_null(strstr(help, a->help));
    assert_non_null(strstr(help, "  --numbers N,..."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_are_taken, clear),
        cmocka_unit_test_setup(what_is_not_given_stays, clear),
        cmocka_unit_test_setup(texts_add_up, clear),
        cmocka_unit_test_setup(wrong_ones_get_a_sentence, clear),
        cmocka_unit_test_setup(files_are_appended_to, clear),
        cmocka_unit_test_setup(help_lists_all, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

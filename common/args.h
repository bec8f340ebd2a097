/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - the long options of a program in one table: name, place, range and help. */
#ifndef TRIGD_ARGS_H
#define TRIGD_ARGS_H
#include <stdint.h>
#include <stdio.h>

#define ARGS_MOST 32u /* of a list, and repetitions of an option */

enum arg_kind {              /* type of what `to` points to */
                ARG_FLAG,    /* bool; takes no value */
                ARG_TEXT,    /* const char * */
                ARG_TEXTS,   /* struct arg_texts; may be repeated */
                ARG_U32,     /* uint32_t */
                ARG_U64,     /* uint64_t */
                ARG_REAL,    /* double */
                ARG_NUMBERS, /* struct arg_numbers, "1,2,4" */
                ARG_APPEND   /* FILE *, opened to append to */
};

struct arg_texts {
    const char *text[ARGS_MOST];
    uint32_t n;
};
struct arg_numbers {
    uint64_t value[ARGS_MOST];
    uint32_t n;
};

struct arg { /* one option; the table ends with a NULL name */
    const char
        *name; /* without the dashes; of one letter, behind its long name and without help: -x */
    enum arg_kind kind;
    void *to;
    double min, max;   /* of numbers; both 0: any */
    const char *value; /* what help calls the value, "FILE"; words with | between: those are
                        * allowed; NULL for flags */
    const char *help;  /* NULL: help does not list it */
};

struct arg_command { /* a first word; the list ends with a NULL name */
    const char *name, *args, *help;
};

struct arg_program {  /* what --help prints; man pages and shell completion are made from it too */
    const char *name; /* NULL: that of argv[0] */
    const char *version; /* NULL: there is no --version */
    const char *summary; /* a line without a full stop */
    const char *usage; /* lines without "usage:" and the name; NULL: those of the commands alone */
    const struct arg_command *commands; /* NULL: none */
    const struct arg *table;
    const char *more;            /* after the options; NULL: nothing */
    void (*describe)(FILE *out); /* further members of the description, each after a comma; NULL */
};

enum { ARGS_OK, ARGS_HELP, ARGS_WRONG };

/* Takes the options of a program and moves other words to argv[1 .. *ret_n], in their order.
 * ARGS_HELP: --help, --version or --describe (all of this as JSON, for tools/report/manual) was
 * given and answered; ARGS_WRONG: a sentence was printed on stderr. */
int args_parse_program(int argc, char **argv, const struct arg_program *program, int *ret_n);
/* Takes the options "--name value" and "--name=value" of argv[1 .. argc - 1].  ARGS_HELP: --help
 * was given and the help printed; ARGS_WRONG: a sentence was printed on stderr.  `program` is its
 * name in both; NULL: that of argv[0]. */
int args_parse(int argc, char **argv, const char *program, const struct arg *table);
/* The same for a program that takes other words too: they are moved to argv[1 .. *ret_n], in their
 * order.  `usage` is the text before the options in the help. */
int args_parse_words(int argc, char **argv, const char *usage, const struct arg *table, int *ret_n);
/* The usage lines of a program, for an error. */
void args_print_usage(const struct arg_program *p, FILE *out);
#endif

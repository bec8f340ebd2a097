/* SPDX-License-Identifier: Apache-2.0 */
#include "args_help.h"

#include <string.h>

#include "json.h"

#define HELP_COLUMN 25
#define HELP_WIDTH  95

/* The text in lines of HELP_WIDTH, all but the first behind HELP_COLUMN spaces. */
static void print_wrapped(const char *text)
{
    size_t column = HELP_COLUMN;

    while (*text) {
        const size_t n = strcspn(text, " ");

        if (column + n > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN - 1, "");
            column = HELP_COLUMN;
        }
        printf(" %.*s", (int)n, text);
        column += n + 1;
        text += n + (text[n] != 0);
    }
    putchar('\n');
}

static void print_entry(const char *left, const char *help)
{
    printf("  %-22s", left);
    if (strlen(left) > HELP_COLUMN - 3)
        printf("\n%*s", HELP_COLUMN - 1, "");
    print_wrapped(help);
}

/* The letter of an option: a name of one letter for the same place; 0: it has none. */
static char letter_of(const struct arg_program *p, const struct arg *option)
{
    for (const struct arg *a = p->table; a->name; a++)
        if (a->to == option->to && a->name[1] == '\0')
            return a->name[0];
    return 0;
}

void args_print_usage(const struct arg_program *p, FILE *out)
{
    const char *lead = "usage:";

    if (p->usage && !strncmp(p->usage, "usage:", 6)) { /* with its name and all */
        fprintf(out, "%s\n", p->usage);
        return;
    }
    if (!p->usage && !p->commands)
        fprintf(out, "usage: %s [OPTION ...]\n", p->name);
    for (const char *line = p->usage; line && *line; line += strspn(line, "\n")) {
        const int n = (int)strcspn(line, "\n");

        fprintf(out, "%s %s %.*s\n", lead, p->name, n, line);
        lead = "      ";
        line += n;
    }
    for (const struct arg_command *c = p->commands; c && c->name; c++) {
        fprintf(out, "%s %s %s%s%s\n", lead, p->name, c->name, c->args[0] ? " " : "", c->args);
        lead = "      ";
    }
}

void args_print_help(const struct arg_program *p)
{
    args_print_usage(p, stdout);
    if (p->summary)
        printf("\n%s\n\n", p->summary);
    for (const struct arg_command *c = p->commands; c && c->name; c++)
        print_entry(c->name, c->help);
    if (p->commands)
        putchar('\n');
    for (const struct arg *a = p->table; a->name; a++) {
        const char letter = a->help && a->name[1] ? letter_of(p, a) : 0;
        char left[96], dash[] = {'-', letter, ',', ' ', '\0'};

        if (!a->help)
            continue;
        snprintf(left, sizeof left, "%s--%s%s%s", letter ? dash : "", a->name, a->value ? " " : "",
                 a->value ? a->value : "");
        print_entry(left, a->help);
    }
    if (p->version)
        print_entry("--version", "print the version and exit");
    if (p->summary)
        print_entry("-h, --help", "print this and exit");
    if (p->more)
        printf("\n%s", p->more);
}

struct member { /* of an object of JSON; the list ends with a NULL name */
    const char *name, *text;
};

static void print_members(const struct member *m)
{
    for (const char *comma = ""; m->name; m++, comma = ", ") {
        printf("%s\"%s\": ", comma, m->name);
        if (m->text)
            json_string(m->text, stdout);
        else
            fputs("null", stdout);
    }
}

void args_describe(const struct arg_program *p)
{
    const char *comma = "";

    fputs("{", stdout);
    print_members((const struct member[]){{"name", p->name},
                                          {"version", p->version},
                                          {"summary", p->summary},
                                          {"usage", p->usage},
                                          {"more", p->more},
                                          {0}});
    fputs(", \"commands\": [", stdout);
    for (const struct arg_command *c = p->commands; c && c->name; c++, comma = ", ") {
        printf("%s{", comma);
        print_members(
            (const struct member[]){{"name", c->name}, {"args", c->args}, {"help", c->help}, {0}});
        fputs("}", stdout);
    }
    fputs("], \"options\": [", stdout);
    comma = "";
    for (const struct arg *a = p->table; a->name; a++) {
        const char letter[2] = {letter_of(p, a)};

        if (!a->help)
            continue;
        printf("%s{", comma);
        print_members((const struct member[]){{"name", a->name},
                                              {"letter", letter[0] ? letter : NULL},
                                              {"value", a->value},
                                              {"help", a->help},
                                              {0}});
        fputs("}", stdout);
        comma = ", ";
    }
    fputs("]", stdout);
    if (p->describe)
        p->describe(stdout);
    fputs("}\n", stdout);
}

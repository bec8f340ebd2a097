/* SPDX-License-Identifier: Apache-2.0 */
#include "parameters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "inner.h"

#define LINE_BYTES 256

struct parameter {
    const char *name, *allowed;
    double low, high; /* both allowed */
    bool is_integer;
};
static const struct parameter table[] = {
    {"nx", "a whole number from 3 to 65536", 3, 65536, true},
    {"ny", "a whole number from 3 to 65536", 3, 65536, true},
    {"steps", "a whole number from 1 to 1000000000", 1, 1e9, true},
    {"reynolds_dim", "a number from 1 to 65536", 1, 65536, false},
    {"density", "a number from 1e-6 to 1000", 1e-6, 1000, false},
    {"accel", "a number from 0 to 0.5", 0, 0.5, false},
    {"omega", "a number from 0.01 to 1.99", 0.01, 1.99, false},
};
#define N_PARAMETERS (sizeof table / sizeof table[0])

/* The next line that is not empty, without its end; 0 at the end of the file. */
static int next_line(FILE *f, char *line, unsigned *at)
{
    while (fgets(line, LINE_BYTES, f)) {
        (*at)++;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")])
            return 1;
    }
    return 0;
}

static int read_number(const char *path, unsigned at, const struct parameter *p, const char *line,
                       double *ret_value, struct lattice_why *why)
{
    char *end;
    const double value = strtod(line, &end);

    if (end == line || end[strspn(end, " \t")] || !(value >= p->low && value <= p->high) ||
        (p->is_integer && value != floor(value)))
        return lattice_refuse(why, "%s:%u: %s is \"%.40s\"; it must be %s", path, at, p->name, line,
                              p->allowed);
    *ret_value = value;
    return 0;
}

static int read_table(FILE *f, const char *path, double value[N_PARAMETERS],
                      struct lattice_why *why)
{
    char line[LINE_BYTES];
    unsigned at = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < N_PARAMETERS; i++) {
        if (!next_line(f, line, &at))
            return lattice_refuse(why, "%s ends before %s: it must have %zu lines", path,
                                  table[i].name, N_PARAMETERS);
        r = read_number(path, at, &table[i], line, &value[i], why);
    }
    if (r == 0 && next_line(f, line, &at))
        return lattice_refuse(why, "%s:%u: \"%.40s\" is too much: it must have %zu lines", path, at,
                              line, N_PARAMETERS);
    return r;
}

int lattice_read_parameters(const char *path, struct lattice_parameters *ret_parameters,
                            struct lattice_why *why)
{
    double value[N_PARAMETERS] = {0};
    FILE *f = fopen(path, "r");
    int r = f ? read_table(f, path, value, why)
              : lattice_refuse(why, "%s cannot be read: %s", path, strerror(errno));

    if (f)
        (void)fclose(f);
    if (r < 0)
        return r;
    if (value[0] * value[1] > LT_CELLS_MAX)
        return lattice_refuse(why, "%s: %.0f x %.0f cells; at most 2^28 together are allowed", path,
                              value[0], value[1]);
    *ret_parameters = (struct lattice_parameters){.setup = {.nx = (uint32_t)value[0],
                                                            .ny = (uint32_t)value[1],
                                                            .density = value[4],
                                                            .accel = value[5],
                                                            .omega = value[6]},
                                                  .steps = (uint32_t)value[2],
                                                  .reynolds_dim = value[3]};
    return 0;
}

static int read_obstacle(const char *path, unsigned at, const char *line, uint32_t nx, uint32_t ny,
                         unsigned char *kind, struct lattice_why *why)
{
    char *end;
    long x, y, blocked = 1;
    const bool has_comma = strchr(line, ',') != NULL;

    x = strtol(line, &end, 10);
    if (end == line || (*end != ' ' && *end != '\t' && *end != ','))
        return lattice_refuse(
            why, "%s:%u: \"%.40s\" is no obstacle: a line is \"x y 1\" or \"x,y\"", path, at, line);
    line = end + 1;
    y = strtol(line, &end, 10);
    if (end != line && !has_comma) {
        line = end;
        blocked = strtol(line, &end, 10);
    }
    if (end == line || end[strspn(end, " \t")] || blocked != 1)
        return lattice_refuse(why, "%s:%u: this is no obstacle: a line is \"x y 1\" or \"x,y\"",
                              path, at);
    if (x < 0 || x >= (long)nx || y < 0 || y >= (long)ny)
        return lattice_refuse(why,
                              "%s:%u: obstacle (%ld, %ld) is outside of the grid: x must be 0 to "
                              "%u, y 0 to %u",
                              path, at, x, y, nx - 1, ny - 1);
    kind[(size_t)y * nx + (size_t)x] = LATTICE_SOLID;
    return 0;
}

int lattice_read_obstacles(const char *path, uint32_t nx, uint32_t ny, unsigned char *kind,
                           struct lattice_why *why)
{
    char line[LINE_BYTES];
    unsigned at = 0;
    FILE *f = fopen(path, "r");
    int r = 0;

    if (!f)
        return lattice_refuse(why, "%s cannot be read: %s", path, strerror(errno));
    while (r == 0 && next_line(f, line, &at))
        if (at > 1 || strcmp(line, "x,y") != 0)
            r = read_obstacle(path, at, line, nx, ny, kind, why);
    if (r == 0 && ferror(f))
        r = lattice_refuse(why, "%s cannot be read to its end", path);
    (void)fclose(f);
    return r;
}

double lattice_reynolds(const struct lattice_parameters *p, double mean_speed)
{
    return mean_speed * p->reynolds_dim * 6 / (2 / p->setup.omega - 1);
}

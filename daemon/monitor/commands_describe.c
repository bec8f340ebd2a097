/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"
#include "monitor/commands.h"
#include "monitor/commands_inner.h"

void control_describe(const struct control_extra *extra, uint32_t n_extra, FILE *out)
{
    static const char *const name[4] = {"name", "args", "takes", "help"};
    const struct control_view v = {.extra = extra, .n_extra = n_extra};
    const char *part[4];

    fputs(", \"control\": [", out);
    for (uint32_t i = 0; command_part(&v, i, part); i++) {
        for (uint32_t k = 0; k < 4; k++) {
            fprintf(out, "%s\"%s\": ", k ? ", " : i ? ", {" : "{", name[k]);
            json_string(part[k], out);
        }
        fputs("}", out);
    }
    fputs("]", out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes one line of the control socket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct fixture f;
    char *line, *answer;
    struct control_wait wait;

    if (!f.stats && fixture_init(&f) < 0)
        abort();                   /* lint: how libFuzzer is told */
    n -= n && data[n - 1] == '\n'; /* files end with one, lines as the socket cuts them do not */
    line = malloc(n + 1);
    if (!line)
        return 0;
    memcpy(line, data, n);
    line[n] = '\0';
    answer = control_command(&f.view, &f.who, line, &wait);
    /* an answer never holds an empty line, which would end it early, and ends with its line */
    if (!answer || *answer == '\n' || strstr(answer, "\n\n") ||
        (*answer && answer[strlen(answer) - 1] != '\n'))
        abort(); /* lint: how libFuzzer is told */
    free(answer);
    free(line);
    return 0;
}

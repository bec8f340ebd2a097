/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes one line of the control socket.  Built with libFuzzer where TRIGD_FUZZ is on; else a plain
 * program that replays the files it is given, or those of a folder. */
#include <dirent.h>
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

    if (!f.stats && fixture_init(&f) < 0)
        abort();                   /* lint: how libFuzzer is told */
    n -= n && data[n - 1] == '\n'; /* files end with one, lines as the socket cuts them do not */
    line = malloc(n + 1);
    if (!line)
        return 0;
    memcpy(line, data, n);
    line[n] = '\0';
    answer = control_command(&f.view, line);
    /* an answer never holds an empty line, which would end it early, and ends with its line */
    if (!answer || *answer == '\n' || strstr(answer, "\n\n") ||
        (*answer && answer[strlen(answer) - 1] != '\n'))
        abort(); /* lint: how libFuzzer is told */
    free(answer);
    free(line);
    return 0;
}

#ifdef FUZZ_REPLAY
static int replay(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f) {
        perror(path);
        return 1;
    }
    n = fread(data, 1, sizeof data, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent *e;
    int n = 0, failed = 0;
    DIR *d = opendir(argc == 2 ? argv[1] : "");

    if (!d) {
        fprintf(stderr, "usage: fuzz_control FOLDER\n");
        return 2;
    }
    while ((e = readdir(d)) != NULL) {
        char path[4096];

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        failed |= replay(path);
        n++;
    }
    closedir(d);
    printf("%d inputs\n", n);
    return failed || !n;
}
#endif

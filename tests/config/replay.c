/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds every file of a folder to the fuzz function, for builds without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int main(int argc, char **argv)
{
    static uint8_t data[1 << 20];
    unsigned files = 0;
    struct dirent *e;
    DIR *d = argc == 2 ? opendir(argv[1]) : NULL;

    if (!d) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((e = readdir(d)) != NULL) {
        char path[4096];
        FILE *f;

        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        f = fopen(path, "rb");
        if (!f) {
            perror(path);
            return 1;
        }
        LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof data, f));
        fclose(f);
        files++;
    }
    closedir(d);
    printf("%u files\n", files);
    return files ? 0 : 1;
}

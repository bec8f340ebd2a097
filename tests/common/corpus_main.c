/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a libFuzzer entry on every file of a folder: the kept corpus as an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *folder, const char *name)
{
    static uint8_t bytes[1 << 20];
    char path[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return LLVMFuzzerTestOneInput(bytes, n);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    int files = 0, failed = 0;

    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        failed |= run_file(argv[1], entry->d_name);
        files++;
    }
    closedir(folder);
    printf("%d files\n", files);
    return failed || !files;
}

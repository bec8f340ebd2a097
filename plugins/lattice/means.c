/* SPDX-License-Identifier: Apache-2.0 */
#include "means.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inner.h"

#define ROW       "%12llu %15.9e\n"
#define ROW_BYTES 29u

/* The rows of a flow of so many steps, and no others. */
static int cut(int fd, const char *path, uint64_t rows, struct lattice_why *why)
{
    const uint64_t wanted = rows * ROW_BYTES;
    struct stat s;

    if (fstat(fd, &s) < 0)
        return -errno;
    if ((uint64_t)s.st_size < wanted)
        return lattice_refuse(why, "%s has %llu rows; the checkpoint was written after %llu", path,
                              (unsigned long long)s.st_size / ROW_BYTES, (unsigned long long)rows);
    return ftruncate(fd, (off_t)wanted) < 0 || lseek(fd, 0, SEEK_END) < 0 ? -errno : 0;
}

int lattice_means_open(const char *folder, uint32_t every, uint64_t steps,
                       struct lattice_means *ret_means, struct lattice_why *why)
{
    char path[4096];
    FILE *file = NULL;
    int fd, r;

    *ret_means = (struct lattice_means){.every = every};
    if (!every)
        return 0;
    snprintf(path, sizeof path, "%.4000s/means.txt", folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    r = fd < 0 ? -errno : cut(fd, path, steps / every, why);
    if (r == 0) {
        file = fdopen(fd, "w");
        r = file ? 0 : -errno;
    }
    if (r < 0 && r != -EINVAL)
        r = lattice_refuse(why, "%s cannot be opened: %s", path, strerror(-r));
    if (r < 0 && fd >= 0)
        close(fd);
    ret_means->file = r == 0 ? file : NULL;
    return r;
}

int lattice_means_add(struct lattice_means *m, uint64_t from, const double *mean, uint32_t n)
{
    for (uint32_t i = 0; m->file && i < n; i++) {
        const uint64_t step = from + i + 1;

        if (step % m->every == 0 &&
            fprintf(m->file, ROW, (unsigned long long)step, mean[i]) != (int)ROW_BYTES)
            return -EIO;
    }
    return 0;
}

int lattice_means_sync(struct lattice_means *m)
{
    if (!m->file)
        return 0;
    return fflush(m->file) != 0 || fdatasync(fileno(m->file)) < 0 ? -errno : 0;
}

void lattice_means_close(struct lattice_means *m)
{
    if (m->file)
        (void)fclose(m->file); /* what counts has been synchronized */
    m->file = NULL;
}

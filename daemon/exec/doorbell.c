/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/doorbell.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

int doorbell_map(int page_fd, int event_fd, struct doorbell *ret_bell)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);

    if (page == MAP_FAILED)
        return -errno;
    *ret_bell = (struct doorbell){.page_fd = page_fd, .event_fd = event_fd, .sleeping = page};
    return 0;
}

int doorbell_open(struct doorbell *ret_bell)
{
    int page = memfd_create("trigd-doorbell", MFD_CLOEXEC), event, r;

    if (page < 0)
        return -errno;
    event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    r = event < 0 || ftruncate(page, PAGE) < 0 ? -errno : doorbell_map(page, event, ret_bell);
    if (r < 0) {
        close(page);
        if (event >= 0)
            close(event);
    }
    return r;
}

void doorbell_close(struct doorbell *b)
{
    if (!b->sleeping)
        return;
    munmap(b->sleeping, PAGE);
    close(b->page_fd);
    close(b->event_fd);
    *b = (struct doorbell){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/guest_page.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int guest_page_map(int fd, struct guest_page **ret_page)
{
    void *p = mmap(NULL, sizeof(struct guest_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (p == MAP_FAILED)
        return -errno;
    *ret_page = p;
    return 0;
}

int guest_page_make(int *ret_fd, struct guest_page **ret_page)
{
    int fd = memfd_create("trigd-guest", MFD_CLOEXEC), r;

    if (fd < 0)
        return -errno;
    r = ftruncate(fd, sizeof(struct guest_page)) < 0 ? -errno : guest_page_map(fd, ret_page);
    if (r < 0)
        close(fd);
    else
        *ret_fd = fd;
    return r;
}

void guest_page_unmap(struct guest_page *p)
{
    if (p)
        munmap(p, sizeof *p);
}

void guest_page_say(struct guest_page *p, const char *text)
{
    uint64_t words[GUEST_TEXT / 8] = {0};

    strncpy((char *)words, text, GUEST_TEXT - 1);
    for (size_t i = 0; i < GUEST_TEXT / 8; i++)
        atomic_store_explicit(&p->text[i], words[i], memory_order_relaxed);
}

/* What is no printable character is none of a line. */
void guest_page_text(const struct guest_page *p, char text[GUEST_TEXT])
{
    for (size_t i = 0; i < GUEST_TEXT / 8; i++) {
        const uint64_t word =
            atomic_load_explicit((_Atomic uint64_t *)&p->text[i], memory_order_relaxed);

        memcpy(text + 8 * i, &word, 8);
    }
    text[GUEST_TEXT - 1] = '\0';
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

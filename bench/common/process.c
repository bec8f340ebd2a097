/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"

int process_folder(char *path, size_t bytes)
{
    ssize_t n = readlink("/proc/self/exe", path, bytes - 1);

    if (n < 0)
        return -errno;
    path[n] = '\0';
    *strrchr(path, '/') = '\0';
    return 0;
}

uint32_t process_cores(uint32_t most)
{
    cpu_set_t set;
    uint32_t n = sched_getaffinity(0, sizeof set, &set) < 0 ? 1 : (uint32_t)CPU_COUNT(&set);

    return n < most ? n : most;
}

int process_part(uint32_t n, bool is_last)
{
    static cpu_set_t all; /* of the program, before the first call */
    uint32_t others, at = 0;
    cpu_set_t mine;

    if (!CPU_COUNT(&all) && sched_getaffinity(0, sizeof all, &all) < 0)
        return -errno;
    if (!n || n >= (uint32_t)CPU_COUNT(&all))
        return -EINVAL;
    others = (uint32_t)CPU_COUNT(&all) - n;
    CPU_ZERO(&mine);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && (at++ >= others) == is_last)
            CPU_SET(i, &mine);
    return sched_setaffinity(0, sizeof mine, &mine) < 0 ? -errno : 0;
}

int process_free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r;

    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        r = -errno;
    else
        r = ntohs(a.sin_port);
    close(fd);
    return r;
}

int process_write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    FILE *f;
    bool good;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "w");
    if (!f)
        return -errno;
    good = fputs(text, f) >= 0;
    return fclose(f) == 0 && good ? 0 : -EIO;
}

int process_new_folder(char path[PROCESS_FOLDER_BYTES])
{
    snprintf(path, PROCESS_FOLDER_BYTES, "/tmp/trigd-bench-XXXXXX");
    if (mkdtemp(path))
        return 0;
    path[0] = '\0';
    return -errno;
}

void process_remove_folder(const char *path)
{
    if (path[0])
        folder_remove(path);
}

int process_start(const char *program, const char *const *args, const char *const *env,
                  pid_t *ret_pid)
{
    char folder[1000], path[1100];
    int r = process_folder(folder, sizeof folder);

    if (r < 0)
        return r;
    snprintf(path, sizeof path, "%s/%s", folder, program);
    *ret_pid = fork();
    if (*ret_pid)
        return *ret_pid < 0 ? -errno : 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives the benchmark */
    for (; env && *env; env += 2)
        setenv(env[0], env[1], 1);
    execv(path, (char **)(uintptr_t)args);
    fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
    _exit(127);
}

int process_await_file(const char *path, pid_t pid)
{
    for (int i = 0; i < 3000; i++) { /* 30 s at most */
        const struct timespec t = {.tv_nsec = 10000000L};

        if (access(path, F_OK) == 0)
            return 0;
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return -ECHILD;
        nanosleep(&t, NULL);
    }
    return -ETIMEDOUT;
}

uint64_t process_cpu_ns(pid_t pid)
{
    char path[384];
    struct dirent *entry;
    uint64_t sum = 0;
    DIR *tasks;

    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    if (!tasks)
        return 0;
    while ((entry = readdir(tasks)) != NULL) {
        unsigned long long ns;
        FILE *f;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        if (fscanf(f, "%llu", &ns) == 1)
            sum += ns;
        fclose(f);
    }
    closedir(tasks);
    return sum;
}

void process_end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

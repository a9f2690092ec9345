/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * What any program that looks at a file has to do at least: reads it, and with -c computes a CRC-32
 * over all of it, with as many threads as -t says (default 1). Each reads pieces that stay in its
 * core's caches. bench_check.py takes its time as a bound.
 *
 *   bench_read [-t THREADS] [-c] FILE
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "wire/crc32.h"

#define PIECE       ((size_t)128 << 10)
#define THREADS_MAX 64

static int fd;
static bool with_crc;
static atomic_size_t next;
static atomic_uint sum; /* so that nothing is left out */
static atomic_bool failed;

static void *run(void *unused)
{
    uint8_t *buf = malloc(PIECE);
    uint32_t crc = 0;
    ssize_t len = 0;

    (void)unused;
    while (buf && (len = pread(fd, buf, PIECE, (off_t)atomic_fetch_add(&next, PIECE))) > 0)
        crc ^= with_crc ? roce_crc32(0, buf, (size_t)len) : buf[len - 1];
    if (!buf || len < 0)
        failed = true;
    sum ^= crc;
    free(buf);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    int c, cnt = 1, started = 0;

    while ((c = getopt(argc, argv, "t:c")) != -1) {
        switch (c) {
        case 't': cnt = atoi(optarg); break;
        case 'c': with_crc = true; break;
        default: cnt = 0; break;
        }
    }
    if (optind + 1 != argc || cnt < 1 || cnt > THREADS_MAX) {
        fprintf(stderr, "usage: bench_read [-t THREADS] [-c] FILE\n");
        return 2;
    }
    fd = open(argv[optind], O_RDONLY);
    if (fd < 0) {
        fprintf(stderr, "bench_read: %s: %s\n", argv[optind], strerror(errno));
        return 2;
    }
    while (started < cnt - 1 && pthread_create(&thread[started], NULL, run, NULL) == 0)
        started++;
    run(NULL);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    close(fd);
    return failed ? 2 : 0;
}

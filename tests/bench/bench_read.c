/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Does only what any program must do to process a file: reads it, and with -c also computes a
 * CRC-32 over it. Uses -t threads (default 1). Each thread reads pieces that fit into the caches of
 * its core.
 *
 * With -m the program maps the file instead. It reads a word of each page (with -c the whole page)
 * and then discards the pages. bench_check.py uses the time of this program as a lower bound for
 * `rocedrill check`.
 *
 *   bench_read [-t THREADS] [-c] [-m] FILE
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "wire/crc32.h"

#define PIECE ((size_t)128 << 10)
/* Number of bytes of a mapped file that a thread processes at a time. */
#define WINDOW      ((size_t)4 << 20)
#define PAGE        4096u
#define THREADS_MAX 64

static int fd;
static bool with_crc;
static uint8_t *mapped; /* the mapped file (-m) */
static size_t file_len;
static atomic_size_t next;
static atomic_uint sum; /* result that prevents the compiler from removing the work */
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

static void *run_mapped(void *unused)
{
    uint32_t crc = 0;
    size_t off;

    (void)unused;
    while ((off = atomic_fetch_add(&next, WINDOW)) < file_len) {
        size_t len = file_len - off < WINDOW ? file_len - off : WINDOW;

        if (with_crc)
            crc ^= roce_crc32(0, mapped + off, len);
        for (size_t i = 0; i < len && !with_crc; i += PAGE)
            crc ^= ((const volatile uint8_t *)mapped)[off + i];
        madvise(mapped + off, len, MADV_DONTNEED);
    }
    sum ^= crc;
    return NULL;
}

/* Maps the file into memory. Returns 0, or -1 on failure. */
static int map_file(void)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -1;
    file_len = (size_t)st.st_size;
    mapped = mmap(NULL, file_len, PROT_READ, MAP_PRIVATE, fd, 0);
    return mapped == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS_MAX];
    void *(*way)(void *) = run;
    int c, cnt = 1, started = 0;

    while ((c = getopt(argc, argv, "t:cm")) != -1) {
        switch (c) {
        case 't': cnt = atoi(optarg); break;
        case 'c': with_crc = true; break;
        case 'm': way = run_mapped; break;
        default: cnt = 0; break;
        }
    }
    if (optind + 1 != argc || cnt < 1 || cnt > THREADS_MAX) {
        fprintf(stderr, "usage: bench_read [-t THREADS] [-c] [-m] FILE\n");
        return 2;
    }
    fd = open(argv[optind], O_RDONLY);
    if (fd < 0 || (way == run_mapped && map_file() != 0)) {
        fprintf(stderr, "bench_read: %s: %s\n", argv[optind], strerror(errno));
        return 2;
    }
    while (started < cnt - 1 && pthread_create(&thread[started], NULL, way, NULL) == 0)
        started++;
    way(NULL);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    close(fd);
    return failed ? 2 : 0;
}

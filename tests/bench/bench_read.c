/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Does only what any program must do to process a file: reads it, and with -c also computes a
 * CRC-32 over it. Uses -t threads (default 1). Each thread reads pieces that fit into the caches of
 * its core.
 *
 * With -m the program maps the file instead. It reads a word of each page (with -c the whole page)
 * and then discards the pages. With -p it maps a pcap file, parses the headers of each frame,
 * computes its ICRC, and finds the entry of its connection in a hash table: no program that judges
 * packets can do less. Each thread does this for every THREADS-th frame. bench_check.py uses the
 * time of this program as a lower bound for `rocedrill check`.
 *
 *   bench_read [-t THREADS] [-c] [-m] [-p] FILE
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
#include "wire/keyed_hash.h"
#include "wire/pkt.h"

#define PIECE ((size_t)128 << 10)
/* Number of bytes of a mapped file that a thread processes at a time. */
#define WINDOW      ((size_t)4 << 20)
#define PAGE        4096u
#define THREADS_MAX 64
#define FILE_HEADER 24u /* length of the header of a pcap file */
#define RECORD      16u /* length of the header of a record */
#define CONNS       4096u

static int fd;
static size_t threads = 1;
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

/* Counts a packet in the entry of its connection. */
static void count_packet(const struct roce_pkt *pkt, uint32_t conn[CONNS])
{
    static const struct roce_hash_secret secret = {{1, 2, 3, 4, 5, 6}};
    uint64_t word[ROCE_HASH_WORDS] = {[4] = pkt->bth.dest_qp};

    memcpy(word, pkt->ip4.src, sizeof(pkt->ip4.src));
    memcpy(word + 2, pkt->ip4.dst, sizeof(pkt->ip4.dst));
    conn[roce_keyed_hash(&secret, word, ROCE_HASH_WORDS) % CONNS]++;
}

static void *run_parsed(void *unused)
{
    size_t own = atomic_fetch_add(&next, 1), cap_len;
    uint32_t conn[CONNS] = {0}, crc = 0;
    struct roce_pkt pkt = {0};

    (void)unused;
    for (size_t off = FILE_HEADER, i = 0; off + RECORD <= file_len; off += cap_len, i++) {
        const uint8_t *frame = mapped + off + RECORD;

        cap_len = roce_le32_get(frame - 8);
        off += RECORD;
        if (cap_len > file_len - off)
            break;
        __builtin_prefetch(frame + cap_len);
        __builtin_prefetch(frame + cap_len + 64);
        if (i % threads != own || !roce_pkt_parse_fast(&pkt, ROCE_LINK_ETHERNET, frame, cap_len,
                                                       roce_le32_get(frame - 4)))
            continue;
        count_packet(&pkt, conn);
        crc ^= (uint32_t)roce_pkt_icrc_check(&pkt, NULL);
    }
    sum ^= crc ^ conn[own];
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

    while ((c = getopt(argc, argv, "t:cmp")) != -1) {
        switch (c) {
        case 't': cnt = atoi(optarg); break;
        case 'c': with_crc = true; break;
        case 'm': way = run_mapped; break;
        case 'p': way = run_parsed; break;
        default: cnt = 0; break;
        }
    }
    if (optind + 1 != argc || cnt < 1 || cnt > THREADS_MAX) {
        fprintf(stderr, "usage: bench_read [-t THREADS] [-c] [-m] [-p] FILE\n");
        return 2;
    }
    fd = open(argv[optind], O_RDONLY);
    threads = (size_t)cnt;
    if (fd < 0 || (way != run && map_file() != 0)) {
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

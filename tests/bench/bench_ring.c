/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A bare ring: two processes, each on its own CPU, pass messages through shared memory. The writer
 * copies each message into the ring, the reader copies it out. bench_verbs.py compares WRITEs of
 * `rnic-run --wire shm` with this program: any transport through shared memory that does not trust
 * its peer does at least these copies.
 *
 *   bench_ring [-s BYTES] [-n MESSAGES]     prints MB/s (10^6 bytes)
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/pause.h"

#define SLOTS   256u
#define LEN_MAX 65536u
#define BUFFERS 64u /* messages of each process, used by turns, as a program's buffers are */

/* A slot of the ring: a word that is 1 while the slot contains a message, and the message. */
struct slot {
    _Alignas(64) _Atomic uint32_t full;
    uint8_t data[];
};

static cpu_set_t cpus; /* CPUs that the program may use */

static void use_cpu(int which)
{
    cpu_set_t one;
    int seen = 0;

    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus) && seen++ == which)
            CPU_SET(cpu, &one);
    if (CPU_COUNT(&one) == 1)
        sched_setaffinity(0, sizeof(one), &one);
}

static size_t slot_size(size_t len)
{
    return (sizeof(struct slot) + len + 63) / 64 * 64;
}

static void wait_until(const _Atomic uint32_t *full, uint32_t value)
{
    while (atomic_load_explicit(full, memory_order_acquire) != value)
        rnic_pause();
}

/* Writes or reads `cnt` messages. */
static void run(uint8_t *ring, int which, size_t len, unsigned long cnt)
{
    uint8_t *own = malloc(BUFFERS * len);

    if (!own)
        exit(2);
    use_cpu(which);
    memset(own, which, BUFFERS * len);
    for (unsigned long i = 0; i < cnt; i++) {
        struct slot *slot = (struct slot *)(void *)(ring + i % SLOTS * slot_size(len));
        uint8_t *message = own + i % BUFFERS * len;

        wait_until(&slot->full, (uint32_t)which);
        if (which)
            memcpy(message, slot->data, len);
        else
            memcpy(slot->data, message, len);
        atomic_store_explicit(&slot->full, !which, memory_order_release);
    }
    free(own);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    unsigned long cnt = 200000;
    size_t len = 4096;
    uint8_t *ring;
    double begin;
    int c, status;
    pid_t child;

    while ((c = getopt(argc, argv, "s:n:")) != -1) {
        switch (c) {
        case 's': len = strtoul(optarg, NULL, 10); break;
        case 'n': cnt = strtoul(optarg, NULL, 10); break;
        default: len = 0; break;
        }
    }
    if (optind != argc || len < 1 || len > LEN_MAX) {
        fprintf(stderr, "usage: bench_ring [-s BYTES] [-n MESSAGES]\n");
        return 2;
    }
    ring = mmap(NULL, SLOTS * slot_size(len), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    if (ring == MAP_FAILED)
        return 2;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
        return 2;
    begin = now();
    child = fork();
    if (child == 0) {
        run(ring, 1, len, cnt);
        _exit(0);
    }
    if (child < 0)
        return 2;
    run(ring, 0, len, cnt);
    if (waitpid(child, &status, 0) != child || status != 0)
        return 2;
    printf("%zu-byte messages: %.0f MB/s\n", len,
           (double)len * (double)cnt / (now() - begin) / 1e6);
    return 0;
}

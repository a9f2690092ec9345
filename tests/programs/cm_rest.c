/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM rest: checks that closed connections leave no resources behind, and that an idle device uses
 * little CPU time. A client and a server in one process repeatedly connect, exchange a message and
 * disconnect. Afterwards the process must have the same number of descriptors and threads as
 * before, and not more memory.
 *
 * Then the process is idle in three situations: while it listens, while QPs are connected, and
 * while a thread waits for a completion. In each situation the program prints how often threads of
 * the process ran, and the CPU time in clock ticks.
 *
 *   cm_rest ADDRESS [TIMES [SECONDS]]       defaults: 1000 connections, 1 s
 *
 * In a build with AddressSanitizer, memory is not compared, because the sanitizer keeps freed
 * memory.
 */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/times.h>
#include <unistd.h>
#include "must.h"

#define PORT "7603"
#define LEN  64
/* After this number of connections, the process has allocated all memory that it keeps. */
#define WARM 30
/* Limit of memory growth, KiB; a leak of one page per connection would exceed it. */
#define LEAK_KB 512
#define NAP_US  300000 /* pause before a measurement, us, in which earlier work ends */
/* Limit of the number of measurements: on a slow machine, the earlier work may take several
 * pauses. */
#define TRIES 20
/* Limit of wakeups per second of an idle process; a timer of 1 ms causes a thousand. */
#define A_RUN 20

struct end {
    struct rdma_cm_id *id;
    struct ibv_mr *mr;
    char buf[2][LEN];
};

static int times_all = 1000, seconds = 1;
static const char *address;
static struct rdma_cm_id *listener;
static sem_t parted; /* posted when the server has destroyed its end of a connection */

/* ---- resources of a process ------------------------------------------------------------------ */

struct has {
    int fds, threads;
    long rss_kb, runs;
};

/* Returns the number in the line `name` of the file `path`, a status file of a process or thread in
 * /proc. */
static long told(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    char line[256];
    long number = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            number = atol(line + strlen(name));
    if (file)
        fclose(file);
    return number;
}

static struct has look(void)
{
    struct has has = {.rss_kb = told("/proc/self/status", "VmRSS:")};
    struct dirent *entry;
    DIR *dir = opendir("/proc/self/fd");
    MUST(dir);
    while ((entry = readdir(dir)))
        has.fds += isdigit((unsigned char)*entry->d_name) != 0;
    closedir(dir);
    MUST(dir = opendir("/proc/self/task"));
    while ((entry = readdir(dir))) {
        char path[300];
        if (!isdigit((unsigned char)*entry->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        has.threads++;
        has.runs += told(path, "voluntary_ctxt_switches:");
        has.runs += told(path, "nonvoluntary_ctxt_switches:");
    }
    closedir(dir);
    return has;
}

static bool rests(const char *what)
{
    struct tms tms;
    usleep(NAP_US);
    struct has before = look();
    times(&tms);
    long ticks = tms.tms_utime + tms.tms_stime;
    sleep((unsigned)seconds);
    times(&tms);
    struct has after = look();
    long runs = after.runs - before.runs - 1; /* without the wakeup of the thread that measures */
    ticks = tms.tms_utime + tms.tms_stime - ticks;
    printf("%s: %d threads had %ld context switches in %d s and used %ld clock ticks of CPU time\n",
           what, after.threads, runs, seconds, ticks);
    return runs <= A_RUN * seconds;
}

static void rest(const char *what)
{
    for (int i = 0; !rests(what); i++)
        MUST(i < TRIES);
}

/* Returns whether the process has the same number of descriptors and threads as `warm`, and not
 * more memory. With AddressSanitizer, memory is not compared, because the sanitizer keeps freed
 * memory. */
static bool as_before(const struct has *has, const struct has *warm)
{
    return has->fds == warm->fds && has->threads == warm->threads &&
           (has->rss_kb <= warm->rss_kb + LEAK_KB || getenv("ASAN_OPTIONS"));
}

/* ---- two ends -------------------------------------------------------------------------------- */

static struct rdma_cm_id *make(int flags)
{
    struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *to;
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = 1};
    struct rdma_cm_id *id;
    MUST(rdma_getaddrinfo(address, PORT, &hints, &to) == 0);
    MUST(rdma_create_ep(&id, to, NULL, &init) == 0);
    rdma_freeaddrinfo(to);
    return id;
}

static void ready(struct end *end)
{
    MUST(end->mr = rdma_reg_msgs(end->id, end->buf, sizeof end->buf));
    MUST(rdma_post_recv(end->id, NULL, end->buf[0], LEN, end->mr) == 0);
}

static void get(struct end *end)
{
    struct ibv_wc wc;
    MUST(rdma_get_recv_comp(end->id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
}

static void put(struct end *end)
{
    struct ibv_wc wc;
    MUST(rdma_post_send(end->id, NULL, end->buf[1], LEN, end->mr, 0) == 0);
    MUST(rdma_get_send_comp(end->id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
}

static void part(struct end *end)
{
    rdma_disconnect(end->id); /* may fail: the other end may have disconnected first */
    MUST(rdma_dereg_mr(end->mr) == 0);
    rdma_destroy_ep(end->id);
}

static void come(struct end *end)
{
    MUST(rdma_get_request(listener, &end->id) == 0);
    ready(end);
    MUST(rdma_accept(end->id, NULL) == 0);
}

static void go(struct end *end)
{
    end->id = make(0);
    ready(end);
    MUST(rdma_connect(end->id, NULL) == 0);
}

static void *serve(void *kept)
{
    for (int i = 0; i < times_all; i++) {
        struct end end;
        come(&end);
        get(&end);
        memcpy(end.buf[1], end.buf[0], LEN);
        put(&end);
        part(&end);
        MUST(sem_post(&parted) == 0);
    }
    come(kept);
    return kept;
}

static void *wait_then_part(void *end)
{
    get(end);
    part(end);
    return NULL;
}

int main(int argc, char **argv)
{
    struct end theirs, ours;
    struct has warm = {0};
    pthread_t server, waiter;
    MUST(argc > 1);
    address = argv[1];
    times_all = argc > 2 ? atoi(argv[2]) : times_all;
    seconds = argc > 3 ? atoi(argv[3]) : seconds;
    MUST(times_all > WARM);
    MUST(sem_init(&parted, 0, 0) == 0);
    listener = make(RAI_PASSIVE);
    MUST(rdma_listen(listener, 10) == 0);
    MUST(pthread_create(&server, NULL, serve, &theirs) == 0);
    rest("listening");
    for (int i = 0; i < times_all; i++) {
        struct end end;
        go(&end);
        snprintf(end.buf[1], LEN, "time %d", i);
        put(&end);
        get(&end);
        MUST(strcmp(end.buf[0], end.buf[1]) == 0);
        part(&end);
        MUST(sem_wait(&parted) == 0); /* wait until the server has destroyed its end, too */
        if (i == WARM - 1 || i == times_all - 1) {
            struct has has;
            int tries = 0;
            do {
                usleep(NAP_US);
                has = look();
                printf("%d connections: %d descriptors, %d threads, %ld KiB\n", i + 1, has.fds,
                       has.threads, has.rss_kb);
            } while (i != WARM - 1 && !as_before(&has, &warm) && ++tries < TRIES);
            MUST(i == WARM - 1 || as_before(&has, &warm));
            warm = has;
        }
    }
    go(&ours);
    MUST(pthread_join(server, NULL) == 0);
    rest("connected");
    MUST(pthread_create(&waiter, NULL, wait_then_part, &theirs) == 0);
    rest("waiting for a completion");
    put(&ours); /* the message makes the thread of the peer continue, so that both ends
                 * disconnect */
    part(&ours);
    MUST(pthread_join(waiter, NULL) == 0);
    rdma_destroy_ep(listener);
    printf("%d connections left no resources behind\n", times_all);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compares the live port with bare libpcap (programs that only send and receive frames) on the same
 * veth pair. The first figure is the packet rate in one direction, with single-packet WRITEs. The
 * second is the round-trip time of an 8-byte WRITE that the peer answers with another WRITE; both
 * sides poll all the time. Everything runs in network namespaces of this program. Compare the
 * ratios, not the times.
 *
 * RoCEv2 frames cost more than other frames of the same size: the IP layer and the firewall of the
 * kernel also process them, until the socket that reserves UDP port 4791 drops them. Therefore the
 * reference also sends and receives RoCEv2 frames. A second reference uses frames with an EtherType
 * that the kernel does not know.
 *
 * If each WRITE gets a separate ACK, a round trip of the device has four frames instead of two. The
 * time of the same four frames on bare libpcap is also printed; it is 1.0 to 1.55 times the time of
 * two frames. On bare libpcap neither side waits for the ACKs, so sending them costs no time if the
 * other side is slower. If the peer does not wait for ACKs, the device coalesces the ACKs of
 * several WRITEs (live.c). So the number of frames that the device sent is printed as well.
 *
 * The longest times contain waits for a CPU: the longest times of bare libpcap have no other cause.
 *
 * The option --qps N measures only the packet rate with N QPs, compared with the rate with 64 QPs.
 *
 * The last output shows where the time of a 4096-byte packet is spent, and the rates that the live
 * port could reach with other methods to move frames between processes (bench_ways.h).
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench_ways.h"
#include "port/live/live.h"
#include "port/netns.h"
#include "wire/gid.h"

#define RUNS_MAX 5
/* Number of parts of a measurement of round trips. Parts on our port and parts on bare libpcap
 * alternate, so that a change of the machine's speed affects both. */
#define PIECES      3u
#define SAMPLES_MAX (RUNS_MAX * PIECES * TRIPS)
#define TRIPS       5000u /* round trips in one part */
#define REAP        64u   /* one WRITE or round trip in every REAP is signaled */

struct conf {
    uint32_t size;   /* payload length, bytes */
    unsigned frames; /* frames in one direction */
    unsigned trips;  /* round trips in one part */
    unsigned runs;   /* number of runs; the median is printed */
    unsigned qps;    /* number of QPs, used in a random order */
};

/* The parameters that the two sides exchange. */
struct hello {
    uint8_t gid[16];
    uint64_t addr;
    uint32_t rkey;
};

static void say(int fd, const void *buf, size_t len)
{
    if (write(fd, buf, len) != (ssize_t)len)
        _exit(1);
}

static void hear(int fd, void *buf, size_t len)
{
    if (read(fd, buf, len) != (ssize_t)len)
        _exit(1);
}

static void sync_with(int fd)
{
    char byte = 'x';

    say(fd, &byte, 1);
    hear(fd, &byte, 1);
}

static void need(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "bench_port: %s: %d\n", what, error);
        _exit(1);
    }
}

/* A process on each side polls on a separate CPU: own_cpu. Otherwise, if a third process once
 * forces both processes onto one CPU, they stay there, and each waits a time slice of milliseconds
 * for the other. all_cpus: the CPUs that the program may use. */
static cpu_set_t all_cpus, own_cpu;

static void choose_cpu(bool client)
{
    int cpu = client ? 0 : CPU_SETSIZE - 1;

    need(sched_getaffinity(0, sizeof(all_cpus), &all_cpus), "sched_getaffinity");
    while (!CPU_ISSET(cpu, &all_cpus))
        cpu += client ? 1 : -1;
    CPU_ZERO(&own_cpu);
    CPU_SET(cpu, &own_cpu);
    need(sched_setaffinity(0, sizeof(own_cpu), &own_cpu), "sched_setaffinity");
}

/* ---- bare libpcap ---------------------------------------------------------------------------- */

static pcap_t *bare_open(const char *iface)
{
    char text[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_create(iface, text);

    need(!pcap, "pcap_create");
    need(pcap_set_snaplen(pcap, 4352), "pcap_set_snaplen");
    need(pcap_set_immediate_mode(pcap, 1), "pcap_set_immediate_mode");
    need(pcap_set_timeout(pcap, 1), "pcap_set_timeout");
    need(pcap_set_buffer_size(pcap, 16 << 20), "pcap_set_buffer_size");
    need(pcap_activate(pcap) < 0, "pcap_activate");
    need(pcap_setdirection(pcap, PCAP_D_IN), "pcap_setdirection");
    need(pcap_setnonblock(pcap, 1, text), "pcap_setnonblock");
    return pcap;
}

/* Builds a frame for the measurement with bare libpcap, with an experimental EtherType. */
static void bare_frame(uint8_t *buf, size_t len)
{
    memset(buf, 0, len);
    memset(buf, 0xff, 6);
    buf[12] = 0x88;
    buf[13] = 0xb5; /* EtherType 0x88b5, for local experiments */
}

/* Waits for the next frame that bare_frame() built. */
static void bare_take(pcap_t *pcap)
{
    struct pcap_pkthdr *head;
    const u_char *data;

    for (;;)
        if (pcap_next_ex(pcap, &head, &data) == 1 && data[12] == 0x88 && data[13] == 0xb5)
            return;
}

/* Round-trip times, ns. */
struct samples {
    size_t cnt;
    double ns[SAMPLES_MAX];
};

/* The times of all round trips on bare libpcap and on our port. */
static struct samples bare_samples, live_samples;

/* Records the time since *since, and sets *since to the present time. */
static void add_sample(struct samples *samples, uint64_t *since)
{
    uint64_t now = rnic_live_now();

    if (samples->cnt < SAMPLES_MAX)
        samples->ns[samples->cnt++] = (double)(now - *since);
    *since = now;
}

static double bare_trips(const char *iface, bool client, int fd, const struct conf *conf)
{
    pcap_t *pcap = bare_open(iface);
    uint8_t buf[82];
    uint64_t start, since;
    double seconds;

    bare_frame(buf, sizeof(buf));
    sync_with(fd);
    start = since = rnic_live_now();
    for (unsigned i = 0; i < conf->trips; i++) {
        if (client)
            need(pcap_inject(pcap, buf, sizeof(buf)) < 0, "pcap_inject");
        bare_take(pcap);
        if (!client)
            need(pcap_inject(pcap, buf, sizeof(buf)) < 0, "pcap_inject");
        add_sample(&bare_samples, &since);
    }
    seconds = (double)(rnic_live_now() - start) / 1e9;
    pcap_close(pcap);
    return seconds / conf->trips;
}

/* ---- the software RNIC ----------------------------------------------------------------------- */

struct end {
    struct rnic_live *live;
    struct rnic_cq *cq;
    struct rnic_qp **qp;
    struct rnic_mr *mr;
    struct hello peer;
    uint8_t *mem;
};

/* Creates conf->qps QPs and connects them with the QPs of the other side. `qp` has the attributes
 * that all QPs share. */
static void end_connect(struct end *end, struct rnic_pd *pd, struct rnic_qp_attr qp, int fd,
                        const struct conf *conf)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .recv_cq = end->cq,
                                .send_cq = end->cq,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = conf->qps > 1 ? 16 : 1024,
                                .max_send_sge = 1,
                                .max_inline = 8};
    uint32_t lcg = 1;

    end->qp = calloc(conf->qps, sizeof(*end->qp));
    need(!end->qp, "memory");
    for (unsigned i = 0; i < conf->qps; i++) {
        unsigned at;

        rnic_live_lock(end->live);
        init.qpn = rnic_live_qpn_get(end->live);
        lcg = lcg * 1664525u + 1013904223u;
        at = (unsigned)((uint64_t)lcg * (i + 1) >> 32); /* end->qp gets a random order */
        end->qp[i] = end->qp[at];
        need(rnic_qp_new(pd, &init, &end->qp[at]), "QP");
        say(fd, &init.qpn, sizeof(init.qpn));
        hear(fd, &qp.dest_qpn, sizeof(qp.dest_qpn));
        for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
            qp.state = (enum rnic_qp_state)state;
            need(rnic_qp_modify(end->qp[at], &qp, rnic_live_now()), "modify");
        }
        rnic_live_unlock(end->live);
    }
}

static void end_open(struct end *end, const char *iface, int fd, const struct conf *conf)
{
    struct rnic_live_attr attr = {.iface = iface};
    struct rnic_mr_attr mr = {.access = RNIC_ACCESS_ALL, .len = 8192};
    struct rnic_qp_attr qp = {.pkey = 0xffff,
                              .access = RNIC_ACCESS_ALL,
                              .max_dest_rd_atomic = 1,
                              .max_rd_atomic = 1,
                              .timeout = 14,
                              .retry_cnt = 7,
                              .rnr_retry = 7};
    struct hello hello = {0};
    struct rnic_pd *pd;
    struct rnic_iface on;
    struct rnic_path path;
    struct error why;
    struct rnic *rnic;

    /* Let the threads that rnic_live_open() starts use all CPUs. */
    need(sched_setaffinity(0, sizeof(all_cpus), &all_cpus), "sched_setaffinity");
    if (rnic_live_open(&attr, &end->live, &why) != 0) {
        fprintf(stderr, "bench_port: %s\n", why.text);
        _exit(1);
    }
    need(sched_setaffinity(0, sizeof(own_cpu), &own_cpu), "sched_setaffinity");
    end->mem = calloc(1, 8192);
    mr.addr = end->mem;
    mr.iova = (uintptr_t)end->mem;
    rnic = rnic_live_lock(end->live);
    need(rnic_pd_new(rnic, &pd), "PD");
    need(rnic_cq_new(rnic, 4096, &end->cq), "CQ");
    need(rnic_mr_reg(pd, &mr, &end->mr), "MR");
    rnic_live_unlock(end->live);
    rnic_live_iface(end->live, &on);
    for (unsigned i = 0; i < on.gid_cnt; i++)
        if (roce_gid_is_ip4(on.gid[i].gid) && on.gid[i].type == RNIC_GID_ROCE_V2)
            memcpy(hello.gid, on.gid[i].gid, 16);
    hello.addr = (uintptr_t)end->mem;
    hello.rkey = rnic_mr_key(end->mr);
    say(fd, &hello, sizeof(hello));
    hear(fd, &end->peer, sizeof(end->peer));
    need(rnic_live_resolve(end->live, end->peer.gid, -1, 5000000000u, &path), "path");
    memcpy(qp.av.dmac, path.dmac, 6);
    memcpy(qp.av.dgid, end->peer.gid, 16);
    qp.av.sgid_idx = path.sgid_idx;
    qp.path_mtu = path.path_mtu;
    end_connect(end, pd, qp, fd, conf);
}

static void end_close(struct end *end)
{
    rnic_live_close(end->live);
    free(end->qp);
    free(end->mem);
}

static void end_write(struct end *end, struct rnic_qp *qp, uint32_t len, uint64_t to, bool signaled)
{
    struct rnic_sge sge = {.addr = (uintptr_t)end->mem, .len = len, .lkey = rnic_mr_key(end->mr)};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_WRITE,
                              .flags = (signaled ? RNIC_SEND_SIGNALED : 0u) |
                                       (len <= 8 ? RNIC_SEND_INLINE : 0u),
                              .sge = &sge,
                              .sge_cnt = 1,
                              .remote_addr = end->peer.addr + to,
                              .rkey = end->peer.rkey};

    need(rnic_post_send(qp, &wr), "post");
}

/* Polls for completions as ibv_poll_cq() does. Returns their number. */
static size_t end_reap(struct end *end, struct rnic_wc *wc, size_t max)
{
    size_t cnt;

    rnic_live_lock(end->live);
    cnt = rnic_cq_poll(end->cq, wc, max);
    if (cnt == 0 && rnic_live_drive(end->live))
        cnt = rnic_cq_poll(end->cq, wc, max);
    if (cnt > 0)
        rnic_live_leave_poll(end->live, false);
    rnic_live_unlock(end->live);
    return cnt;
}

/* Sends `frames` WRITEs and waits for their completions. */
static void send_flood(struct end *end, const struct conf *conf, unsigned frames)
{
    /* With several QPs, each request is signaled, because a completion of one QP does not show the
     * progress of other QPs. */
    unsigned reap = conf->qps > 1 ? 1 : REAP;
    struct rnic_wc wc[32];
    unsigned posted = 0;
    unsigned done = 0;

    while (done < frames) {
        size_t cnt;

        rnic_live_lock(end->live);
        while (posted < frames && posted - done < 512) {
            struct rnic_qp *qp = end->qp[posted++ % conf->qps];

            end_write(end, qp, conf->size, 0, posted % reap == 0 || posted == frames);
        }
        cnt = rnic_cq_poll(end->cq, wc, 32);
        if (cnt == 0)
            rnic_live_drive(end->live);
        rnic_live_unlock(end->live);
        for (size_t i = 0; i < cnt; i++) {
            need(wc[i].status, "completion");
            done = done + reap < frames ? done + reap : frames;
        }
    }
}

/* Lets the device receive until the other side has finished. */
static void receive_flood(struct end *end, int fd)
{
    char byte = 'x';

    while (recv(fd, &byte, 1, MSG_DONTWAIT) != 1)
        for (unsigned i = 0; i < 64; i++)
            rnic_live_poll(end->live);
    say(fd, &byte, 1);
}

/* Sends `frames` WRITEs from the client to the server. Returns the WRITEs per second. */
static double flood(struct end *end, bool client, int fd, const struct conf *conf, unsigned frames)
{
    uint64_t start;

    sync_with(fd);
    start = rnic_live_now();
    if (client) {
        send_flood(end, conf, frames);
        sync_with(fd);
    } else {
        receive_flood(end, fd);
    }
    return frames * 1e9 / (double)(rnic_live_now() - start);
}

static double rnic_flood(const char *iface, bool client, int fd, const struct conf *conf)
{
    struct end end;
    double rate;

    end_open(&end, iface, fd, conf);
    rate = flood(&end, client, fd, conf, conf->frames);
    end_close(&end);
    return rate;
}

/* Returns the round-trip time of the live port, s. Sets *frames to the number of frames that this
 * side sent for each round trip. */
static double rnic_trips(const char *iface, bool client, int fd, const struct conf *conf,
                         double *frames)
{
    struct rnic_counters counters;
    struct end end;
    struct rnic_wc wc;
    uint64_t start, since;
    double seconds;

    end_open(&end, iface, fd, conf);
    sync_with(fd);
    start = since = rnic_live_now();
    /* Each side sends byte 0 of its memory by WRITE to byte 8 of the other side's memory. */
    for (unsigned i = 1; i <= conf->trips; i++) {
        const volatile uint8_t *seen = end.mem + 8;

        for (unsigned turn = 0; turn < 2; turn++)
            if ((turn == 0) == client) {
                rnic_live_lock(end.live);
                end.mem[0] = (uint8_t)i;
                end_write(&end, end.qp[0], 1, 8, i % REAP == 0);
                rnic_live_unlock(end.live);
            } else {
                while (*seen != (uint8_t)i)
                    rnic_live_poll(end.live);
            }
        while (i % REAP == 0 && end_reap(&end, &wc, 1) == 0)
            ;
        add_sample(&live_samples, &since);
    }
    seconds = (double)(rnic_live_now() - start) / 1e9;
    sync_with(fd);
    rnic_counters_get(rnic_live_lock(end.live), &counters);
    rnic_live_unlock(end.live);
    *frames = (double)counters.tx_packets / conf->trips;
    end_close(&end);
    return seconds / conf->trips;
}

/* ---- running the benchmark ------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values, unsigned cnt)
{
    qsort(values, cnt, sizeof(*values), by_value);
    return values[cnt / 2];
}

static void *shared; /* memory that both sides share, used by WAY_SHARED */

static void account(const char *iface, bool client, int fd, const struct conf *conf, double live)
{
    double value[WAY_CNT][RUNS_MAX];
    double ns[WAY_CNT];
    double own;

    for (unsigned i = 0; i < conf->runs; i++)
        for (unsigned way = 0; way < WAY_CNT; way++)
            value[way][i] =
                way_flood(way, iface, client, fd, conf->size, conf->frames, true, shared);
    if (!client)
        return;
    for (unsigned way = 0; way < WAY_CNT; way++)
        ns[way] = 1e9 / median(value[way], conf->runs);
    /* The device's own time for a packet: the time with the live port minus the time of
     * WAY_MMSG. This is an estimate, because both sides work at the same time. */
    own = 1e9 / live > ns[WAY_MMSG] ? 1e9 / live - ns[WAY_MMSG] : 0;
    printf(
        "cost of a packet of %u bytes: our live port takes %.0f ns (%.0f MB/s) on the slower "
        "side;\n"
        "     sending it to the other process without a device (%s): %.0f ns; the device adds %.0f "
        "ns\n",
        conf->size, 1e9 / live, live * conf->size / 1e6, way_names[WAY_MMSG], ns[WAY_MMSG], own);
    for (unsigned way = 0; way < WAY_CNT; way++) {
        double all = own + ns[way];

        /* WAY_SHARED and WAY_LEAST include copy and CRC, as the device's own time does. So the
         * two times must not be added; the longer one is the estimate. */
        if ((way == WAY_SHARED || way == WAY_LEAST) && own > 0)
            all = own > ns[way] ? own : ns[way];
        printf("     %-28s bare %6.0f ns, %6.0f MB/s; the port would have about %6.0f MB/s\n",
               way_names[way], ns[way], conf->size * 1e3 / ns[way], conf->size * 1e3 / all);
    }
    fflush(stdout);
}

/* Measured round-trip times, s. Each ratio (of_bare, of_twice) compares two times that were
 * measured in the same turn. */
struct trips {
    unsigned cnt;
    double bare[RUNS_MAX * PIECES], twice[RUNS_MAX * PIECES], live[RUNS_MAX * PIECES];
    double of_bare[RUNS_MAX * PIECES], of_twice[RUNS_MAX * PIECES];
    /* Number of frames that one side of the live port sent for each round trip. */
    double frames[RUNS_MAX * PIECES];
};

static void time_trips(struct trips *trips, const char *iface, bool client, int fd,
                       const struct conf *conf)
{
    for (unsigned piece = 0; piece < PIECES; piece++) {
        unsigned i = trips->cnt++;

        trips->bare[i] = bare_trips(iface, client, fd, conf);
        trips->live[i] = rnic_trips(iface, client, fd, conf, &trips->frames[i]);
        trips->twice[i] = way_trips(iface, client, fd, conf->trips);
        trips->of_bare[i] = trips->live[i] / trips->bare[i];
        trips->of_twice[i] = trips->live[i] / trips->twice[i];
    }
}

/* Prints the median, the mean and the 99.9th percentile of the round-trip times. Sorts the samples.
 */
static void print_samples(const char *name, struct samples *samples)
{
    double typical = median(samples->ns, (unsigned)samples->cnt), sum = 0;

    for (size_t i = 0; i < samples->cnt; i++)
        sum += samples->ns[i];
    printf("     round trips of %s: typical %.2f us, mean %.2f us, 99.9 %% %.1f us\n", name,
           typical / 1e3, sum / (double)samples->cnt / 1e3,
           samples->ns[samples->cnt * 999 / 1000] / 1e3);
}

/* Prints the medians. Sorts the arrays. */
static void print_trips(struct trips *trips)
{
    double of_bare = median(trips->of_bare, trips->cnt);

    printf(
        "     round trip: bare libpcap %6.2f us, live port %6.2f us: %5.2f x (target 2 x; of %u "
        "pairs %.2f to %.2f)\n"
        "     with an acknowledgement each way, bare libpcap %6.2f us: %5.2f x; the live port sent "
        "%.2f frames each way\n",
        median(trips->bare, trips->cnt) * 1e6, median(trips->live, trips->cnt) * 1e6, of_bare,
        trips->cnt, trips->of_bare[0], trips->of_bare[trips->cnt - 1],
        median(trips->twice, trips->cnt) * 1e6, median(trips->of_twice, trips->cnt),
        median(trips->frames, trips->cnt));
    print_samples("bare libpcap", &bare_samples);
    print_samples("the live port", &live_samples);
    bare_samples.cnt = live_samples.cnt = 0;
    fflush(stdout);
}

/* Measures only round trips (--trips), which takes about a second. On a busy machine run the
 * program with chrt -f 5. */
static void run_trips(const char *iface, bool client, int fd, const struct conf *conf)
{
    struct trips trips = {.cnt = 0};

    for (unsigned i = 0; i < conf->runs; i++)
        time_trips(&trips, iface, client, fd, conf);
    if (client)
        print_trips(&trips);
}

/* Compares the cost of a packet with many QPs and with 64 QPs (--qps). In both cases every WRITE is
 * signaled and gets a separate ACK. */
static void run_qps(const char *iface, bool client, int fd, const struct conf *conf)
{
    struct conf few = *conf;
    /* At least as many WRITEs as QPs, so that each QP sends one. */
    unsigned frames = conf->frames > conf->qps ? conf->frames : conf->qps;
    struct end end[2];
    double value[3][RUNS_MAX];

    few.qps = 64;
    end_open(&end[0], iface, fd, &few);
    end_open(&end[1], iface, fd, conf);
    /* The first run is not counted: it touches new memory. */
    for (unsigned i = 0; i <= conf->runs; i++) {
        unsigned at = i ? i - 1 : 0;

        value[0][at] = flood(&end[0], client, fd, &few, frames);
        value[1][at] = flood(&end[1], client, fd, conf, frames);
        value[2][at] = value[0][at] / value[1][at];
    }
    end_close(&end[0]);
    end_close(&end[1]);
    if (!client)
        return;
    printf("%5u bytes: live port %7.1f kpps with 64 QPs, %7.1f kpps with %u in a random order: a "
           "packet of these costs %.2f times as much\n",
           conf->size, median(value[0], conf->runs) / 1e3, median(value[1], conf->runs) / 1e3,
           conf->qps, median(value[2], conf->runs));
    fflush(stdout);
}

static void run(const char *iface, bool client, int fd, const struct conf *conf)
{
    double value[3][RUNS_MAX];
    double m[3];
    struct trips trips = {.cnt = 0};

    for (unsigned i = 0; i < conf->runs; i++) {
        value[0][i] =
            way_flood(WAY_INJECT, iface, client, fd, conf->size, conf->frames, true, shared);
        value[1][i] = rnic_flood(iface, client, fd, conf);
        time_trips(&trips, iface, client, fd, conf);
        value[2][i] =
            way_flood(WAY_INJECT, iface, client, fd, conf->size, conf->frames, false, shared);
    }
    for (unsigned i = 0; i < 3; i++)
        m[i] = median(value[i], conf->runs);
    if (client) {
        printf(
            "%5u bytes: bare libpcap %7.1f kpps, live port %7.1f kpps: %5.1f %% (target 85 %%)\n",
            conf->size, m[0] / 1e3, m[1] / 1e3, 100 * m[1] / m[0]);
        printf("     with an EtherType that the IP layer ignores, bare libpcap %7.1f kpps: "
               "%5.1f %%\n",
               m[2] / 1e3, 100 * m[1] / m[2]);
        print_trips(&trips);
    }
    if (conf->size == 4096)
        account(iface, client, fd, conf, m[1]);
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[argc - 1], "--quick") == 0;
    bool trips = argc > 1 && strcmp(argv[1], "--trips") == 0; /* measure only round trips */
    /* --account: measure only packets of 4096 bytes, for bench_verbs.py. */
    unsigned first = argc > 1 && strcmp(argv[1], "--account") == 0 ? 2 : 0;
    bool qps = argc > 2 && strcmp(argv[1], "--qps") == 0; /* measure only many QPs */
    unsigned many = qps ? (unsigned)strtoul(argv[2], NULL, 0) : 1;
    void (*measure)(const char *, bool, int, const struct conf *) = trips ? run_trips
                                                                    : qps ? run_qps
                                                                          : run;
    const struct conf confs[] = {
        {64, quick ? 640 : 64000, quick ? 20 : TRIPS, quick ? 1 : RUNS_MAX, many},
        {1024, quick ? 640 : 64000, quick ? 20 : TRIPS, quick ? 1 : RUNS_MAX, many},
        {4096, quick ? 640 : 64000, quick ? 20 : TRIPS, quick ? 1 : RUNS_MAX, many},
    };
    unsigned end = trips ? 1 : sizeof(confs) / sizeof(confs[0]);
    int pair[2];
    pid_t far;
    char byte = 'x';

    if (!netns_enter())
        return NETNS_SKIP;
    shared = mmap(NULL, WAY_SHARED_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    need(shared == MAP_FAILED, "mmap");
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
    far = netns_fork();
    if (far == 0) {
        close(pair[0]);
        hear(pair[1], &byte, 1);
        choose_cpu(false);
        need(!netns_sh("ip link set vb mtu 5000 up && ip addr add 203.0.113.2/24 dev vb"), "veth");
        say(pair[1], &byte, 1);
        for (unsigned i = first; i < end; i++)
            measure("vb", false, pair[1], &confs[i]);
        _exit(0);
    }
    need(far < 0, "namespace");
    close(pair[1]);
    need(!netns_sh("ip link add va type veth peer name vb && ip link set vb netns %d && "
                   "ip link set va mtu 5000 up && ip addr add 203.0.113.1/24 dev va",
                   (int)far),
         "veth");
    choose_cpu(true);
    sync_with(pair[0]);
    for (unsigned i = first; i < end; i++)
        measure("va", true, pair[0], &confs[i]);
    return netns_wait(far);
}

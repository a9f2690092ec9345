/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Compares the packet rate of `rocedrill replay --live --topspeed --loop` with the rate of a loop
 * that only calls pcap_inject(). Both send the same frames of a capture onto the same veth pair.
 * They run in turns.
 *
 *   bench_live [--quick] CAPTURE
 */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "infer/trace.h"
#include "live/load_gen.h"
#include "port/netns.h"

#define TURNS 5

static void need(bool fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "bench_live: %s\n", what);
        exit(1);
    }
}

/* Creates a veth pair. Its far end is in another network namespace, where the kernel answers ARP
 * and drops the datagrams. */
static void make_link(void)
{
    int go[2];
    char byte = 0;
    pid_t far;

    need(pipe(go) == 0, "pipe");
    far = netns_fork();
    need(far >= 0, "no second namespace");
    if (far == 0) {
        close(go[1]);
        need(read(go[0], &byte, 1) == 1 &&
                 netns_sh("ip addr add 192.0.2.2/24 dev vb && ip link set vb up"),
             "the far end");
        for (;;)
            pause(); /* waits until the parent process ends; the kernel then kills this process */
    }
    need(netns_sh("ip link add va mtu 5000 type veth peer name vb mtu 5000 && "
                  "ip link set vb netns %d && ip addr add 192.0.2.1/24 dev va && "
                  "ip link set va up",
                  (int)far),
         "the link");
    need(write(go[1], "g", 1) == 1, "the far end");
    for (unsigned i = 0; i < 100 && system("ip link show va | grep -q 'state UP'") != 0; i++)
        usleep(50000);
}

/* Returns the packets per second that `rocedrill replay --live` sends. */
static double harness(const char *capture, uint64_t loop)
{
    struct live_args args = {
        .options = {.iface = "va", .target = "192.0.2.2"}, .topspeed = true, .loop = loop};
    struct error error = {""};
    char *text = NULL, *rate;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    double value;

    need(out != NULL, "memory");
    need(load_gen_run(&args, &capture, 1, out, &error) == 0, error.text);
    fclose(out);
    rate = strstr(text, " s: ");
    need(rate != NULL, text);
    value = strtod(rate + 4, NULL);
    free(text);
    return value;
}

/* Returns the packets per second that a loop with pcap_inject() sends. The loop sends the frames of
 * `capture`. */
static double bare(const char *capture, uint64_t loop)
{
    static uint8_t frame[65536][ROCE_FRAME_MAX];
    static int len[65536];
    struct rewrite_path path = {.target = {[10] = 0xFF, 0xFF, 192, 0, 2, 2},
                                .addr = {[10] = 0xFF, 0xFF, 192, 0, 2, 1}};
    char errbuf[PCAP_ERRBUF_SIZE];
    struct error error = {""};
    struct trace trace = {0};
    struct live_port port;
    uint64_t begin, sent = 0;
    size_t cnt = 0;
    pcap_t *pcap;

    /* Open the port once, only to learn the MAC addresses. */
    need(live_port_open(&port, "va", path.target, NULL, false, &error) == 0 &&
             live_port_resolve(&port, &error) == 0,
         error.text);
    memcpy(path.mac, port.mac, 6);
    memcpy(path.dmac, port.dmac, 6);
    live_port_close(&port);
    need(trace_read(&trace, capture, &error) == 0, error.text);
    for (size_t i = 0; i < trace.cnt && cnt < 65536; i++)
        if (!roce_opcode_is_response(roce_opcode(trace.pkt[i].opcode))) {
            len[cnt] = rewrite_addresses(&path, &trace.pkt[i], frame[cnt], ROCE_FRAME_MAX);
            cnt += len[cnt] > 0;
        }
    trace_free(&trace);
    pcap = pcap_open_live("va", 65535, 0, 1, errbuf);
    need(pcap != NULL, errbuf);
    begin = live_now();
    for (uint64_t round = 0; round < loop; round++)
        for (size_t i = 0; i < cnt; i++, sent++)
            while (pcap_inject(pcap, frame[i], (size_t)len[i]) < 0)
                ;
    begin = live_now() - begin;
    pcap_close(pcap);
    return (double)sent * 1e9 / (double)begin;
}

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    bool quick = argc == 3 && strcmp(argv[1], "--quick") == 0;
    double ours[TURNS], theirs[TURNS];
    uint64_t loop = quick ? 20 : 4000;

    need(argc == 2 || quick, "usage: bench_live [--quick] CAPTURE");
    if (!netns_enter())
        return NETNS_SKIP;
    make_link();
    for (unsigned i = 0; i < TURNS; i++) {
        theirs[i] = bare(argv[argc - 1], loop);
        ours[i] = harness(argv[argc - 1], loop);
    }
    qsort(ours, TURNS, sizeof(*ours), order);
    qsort(theirs, TURNS, sizeof(*theirs), order);
    printf("live sending: %.0f packets/s, bare libpcap %.0f packets/s: %.0f %% (target >= 85 %%)\n",
           ours[TURNS / 2], theirs[TURNS / 2], 100 * ours[TURNS / 2] / theirs[TURNS / 2]);
    return 0;
}

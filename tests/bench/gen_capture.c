/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Generates a capture of any length with conformant RoCEv2 traffic: WRITEs of four packets and
 * their ACKs. The connections take turns, one message each, with a microsecond between packets.
 *
 *   gen_capture [-n PACKETS] [-c CONNECTIONS] [-s PAYLOAD[,PAYLOAD...]] [-l SNAPLEN]
 *               [-m MESSAGES] [-d PACKETS] >FILE.pcap
 *
 * PAYLOAD is the path MTU: 256, 512, 1024, 2048 or 4096 (default 256). With a value below 256, each
 * WRITE is one packet with this number of bytes. With several values, each connection uses one of
 * them. The connections take turns so that each value gets the same number of packets, including
 * ACKs.
 *
 * The connections are distributed over 64 pairs of hosts; each has different QPNs and PSNs. The
 * same arguments give the same bytes.
 *
 * With -m MESSAGES, a connection ends after this number of messages, and another one with new QPNs
 * begins. With -d PACKETS, one packet in every PACKETS is not written, as if the capture lacked it.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/pktgen.h"
#include "support/rng.h"
#include "wire/bytes.h"
#include "wire/codes.h"

#define MSG_PACKETS 4u
#define HOSTS       64u
#define SIZES       16u
#define CONNS       0x700000u /* number of connections that have different QPNs */
#define LINKTYPE    1u        /* link type Ethernet */

struct conn {
    uint32_t idx; /* number of the connection, which determines addresses and QPNs */
    uint32_t psn, msn;
};

/* The connections with one payload length. With n lengths, every n-th connection has the same
 * length. */
struct size {
    uint32_t payload_len;
    uint32_t next;    /* number of the connection that sends next */
    uint64_t packets; /* number of packets written so far */
};

struct writer {
    uint64_t left, packets;
    uint64_t drop_each; /* one packet in every `drop_each` is not written; 0: all are written */
    uint32_t snaplen;
};

static void put_record(struct writer *w, const struct pktgen_frame *frame)
{
    uint64_t us = w->packets++;
    uint32_t cap_len = frame->len < w->snaplen ? (uint32_t)frame->len : w->snaplen;
    uint8_t head[16];

    roce_le32_put(head, 1700000000u + (uint32_t)(us / 1000000));
    roce_le32_put(head + 4, (uint32_t)(us % 1000000) * 1000);
    roce_le32_put(head + 8, cap_len);
    roce_le32_put(head + 12, (uint32_t)frame->len);
    fwrite(head, sizeof(head), 1, stdout);
    fwrite(frame->bytes, cap_len, 1, stdout);
}

static bool put_packet(struct writer *w, const struct roce_pkt *pkt)
{
    struct pktgen_frame frame;

    if (w->left == 0)
        return false;
    w->left--;
    if (w->drop_each && w->left % w->drop_each == 0) {
        w->packets++;
        return true;
    }
    pktgen_build(pkt, &frame);
    put_record(w, &frame);
    return true;
}

static struct pktgen gen_of(uint32_t idx, bool response)
{
    struct pktgen gen;
    uint8_t host = (uint8_t)(idx % HOSTS * 2 + 1);

    pktgen_init(&gen, ROCE_ENCAP_V2_IP4);
    gen.sgid[15] = (uint8_t)(host + response);
    gen.dgid[15] = (uint8_t)(host + !response);
    gen.dest_qp = 0x1000 + idx * 2 + !response;
    gen.sport = (uint16_t)(0xC000 + idx % 0x4000);
    return gen;
}

/* Writes one message and its ACK. Returns false if the wanted number of packets is reached. */
static bool put_message(struct writer *w, struct conn *conn, uint32_t payload_len)
{
    static uint8_t payload[4096];
    struct pktgen gen = gen_of(conn->idx, false), back = gen_of(conn->idx, true);
    uint32_t cnt = payload_len < 256 ? 1 : MSG_PACKETS;
    struct roce_pkt pkt;

    for (uint32_t i = 0; i < cnt; i++) {
        uint8_t opcode = cnt == 1       ? ROCE_OP_RC_WRITE_ONLY
                         : i == 0       ? ROCE_OP_RC_WRITE_FIRST
                         : i == cnt - 1 ? ROCE_OP_RC_WRITE_LAST
                                        : ROCE_OP_RC_WRITE_MIDDLE;

        if (i == 0)
            pkt = pktgen_write(&gen, opcode, conn->psn, 0x10000, 0x2000 + conn->idx,
                               cnt * payload_len, payload, payload_len);
        else
            pkt = pktgen_data(&gen, opcode, conn->psn, payload, payload_len);
        pkt.bth.ackreq = i == cnt - 1;
        conn->psn = (conn->psn + 1) & 0xFFFFFF;
        if (!put_packet(w, &pkt))
            return false;
    }
    conn->msn = (conn->msn + 1) & 0xFFFFFF;
    pkt = pktgen_pkt(&back, ROCE_OP_RC_ACK, (conn->psn - 1) & 0xFFFFFF);
    pkt.aeth.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
    pkt.aeth.msn = conn->msn;
    return put_packet(w, &pkt);
}

/* Parses a list of payload lengths. Returns the number of lengths, or 0 if one of them is
 * invalid. */
static uint32_t read_sizes(const char *text, struct size size[SIZES])
{
    uint32_t cnt = 0;
    char *end;

    do {
        uint32_t len = (uint32_t)strtoul(text, &end, 0);

        if (end == text || cnt == SIZES || (len >= 256 && roce_mtu_code(len) == 0))
            return 0;
        size[cnt] = (struct size){.payload_len = len, .next = cnt};
        cnt++;
        text = end + 1;
    } while (*end == ',');
    return *end ? 0 : cnt;
}

/* Returns the payload length with the fewest packets so far. */
static struct size *next_size(struct size *size, uint32_t cnt)
{
    struct size *found = size;

    for (uint32_t i = 1; i < cnt; i++)
        if (size[i].packets < found->packets)
            found = &size[i];
    return found;
}

/* Writes messages until the wanted number of packets is reached. A connection ends after `msg_max`
 * messages; 0: no limit. */
static void put_all(struct writer *w, struct conn *conns, uint32_t conn_cnt, uint32_t msg_max,
                    struct size *size, uint32_t size_cnt)
{
    struct size *at;
    uint64_t before;
    uint32_t idx;

    do {
        at = next_size(size, size_cnt);
        idx = at->next;
        at->next += size_cnt;
        if (at->next >= conn_cnt)
            at->next = (uint32_t)(at - size);
        before = w->packets;
        if (!put_message(w, &conns[idx], at->payload_len))
            return;
        if (conns[idx].msn == msg_max) {
            conns[idx].msn = 0;
            conns[idx].idx = (conns[idx].idx + conn_cnt) % CONNS;
        }
        at->packets += w->packets - before;
    } while (true);
}

static int usage(void)
{
    fprintf(stderr, "usage: gen_capture [-n PACKETS] [-c CONNECTIONS] [-s PAYLOAD[,PAYLOAD...]] "
                    "[-l SNAPLEN] [-m MESSAGES] [-d PACKETS]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static char output[1 << 20];
    struct writer w = {.left = 1000000, .snaplen = 65535};
    struct size size[SIZES] = {{.payload_len = 256}};
    uint32_t conn_cnt = 1, size_cnt = 1, msg_max = 0;
    struct rng rng;
    struct conn *conns;
    /* Pcap header: nanosecond times, version 2.4. */
    uint8_t head[24] = {0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0};
    int c;

    while ((c = getopt(argc, argv, "n:c:s:l:m:d:")) != -1) {
        switch (c) {
        case 'n': w.left = strtoull(optarg, NULL, 0); break;
        case 'c': conn_cnt = (uint32_t)strtoul(optarg, NULL, 0); break;
        case 's': size_cnt = read_sizes(optarg, size); break;
        case 'l': w.snaplen = (uint32_t)strtoul(optarg, NULL, 0); break;
        case 'm': msg_max = (uint32_t)strtoul(optarg, NULL, 0); break;
        case 'd': w.drop_each = strtoull(optarg, NULL, 0); break;
        default: return usage();
        }
    }
    if (optind < argc || size_cnt == 0 || conn_cnt < size_cnt || conn_cnt > CONNS || w.snaplen < 64)
        return usage();
    conns = calloc(conn_cnt, sizeof(*conns));
    if (!conns)
        return 2;
    rng = rng_of(1);
    for (uint32_t i = 0; i < conn_cnt; i++)
        conns[i] = (struct conn){.idx = i, .psn = rng_below(&rng, 1u << 24)};
    /* Use large writes: then the page cache stores the file in large pieces, as it does for a file
     * read from a disk. */
    setvbuf(stdout, output, _IOFBF, sizeof(output));
    roce_le32_put(head + 16, w.snaplen);
    roce_le32_put(head + 20, LINKTYPE);
    fwrite(head, sizeof(head), 1, stdout);
    put_all(&w, conns, conn_cnt, msg_max, size, size_cnt);
    free(conns);
    return fflush(stdout) != 0 || ferror(stdout) ? 2 : 0;
}

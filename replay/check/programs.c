/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/programs.h"

#include <string.h>
#include <sys/stat.h>
#include "capture/capture_reader.h"
#include "check/causes/slow_causes.h"
#include "pcapng/pcapng.h"

/* Limits of the search. */
#define CONNS_MAX  64u
#define IFACES_MAX 256u
#define FRAMES_MAX 1000000u

struct search {
    struct check_conn *conn[CONNS_MAX];
    unsigned cnt, missing; /* number of connections, and number of ends whose name was not found
                            * yet */
    char iface[IFACES_MAX][CHECK_PROGRAM_LEN]; /* descriptions of the interfaces */
    unsigned iface_cnt;
};

static void note_iface(void *user, const uint8_t *block, uint32_t len, bool big)
{
    struct search *search = user;

    if (pcapng_u32(big, block) == PCAPNG_SECTION)
        search->iface_cnt = 0;
    if (pcapng_u32(big, block) == PCAPNG_INTERFACE && search->iface_cnt < IFACES_MAX)
        (void)pcapng_iface_description(big, block, len, search->iface[search->iface_cnt++],
                                       CHECK_PROGRAM_LEN);
}

/* Sets the program name of the sender of a packet, in all connections of the sender. */
static void note_sender(struct search *search, const struct roce_pkt *pkt, const char *name)
{
    uint8_t src[16], dst[16];

    roce_pkt_addr(pkt, src, dst);
    for (unsigned i = 0; i < search->cnt; i++)
        for (unsigned side = 0; side < 2; side++) {
            struct check_conn *conn = search->conn[i];

            if (conn->program[side][0] || conn->sum.side[!side].qpn != pkt->bth.dest_qp ||
                memcmp(conn->sum.side[side].addr, src, 16) != 0)
                continue;
            memcpy(conn->program[side], name, CHECK_PROGRAM_LEN);
            search->missing--;
        }
}

static void take_frame(struct search *search, const struct captured_frame *frame)
{
    struct pcapng_packet packet;
    struct error error;
    struct roce_pkt pkt;

    if (frame->block &&
        pcapng_read_packet(&packet, frame->block_big, frame->block, frame->block_len, &error) ==
            0 &&
        packet.iface < search->iface_cnt && search->iface[packet.iface][0] &&
        roce_pkt_parse(&pkt, frame->link, frame->data, frame->cap_len, frame->wire_len) == 0)
        note_sender(search, &pkt, search->iface[packet.iface]);
}

static bool needs_names(const struct check_conn *conn)
{
    const struct roce_endpoint_summary *side = conn->sum.side;

    return conn->sum.facts.paired && side[0].qpn != side[1].qpn &&
           memcmp(side[0].addr, side[1].addr, 16) == 0 &&
           (check_conn_failed(&conn->sum) || check_conn_stuck(&conn->sum) ||
            check_conn_slow(&conn->sum) || check_conn_paused(&conn->sum));
}

void programs_find(const char *path, struct check_report *report)
{
    struct search search = {.cnt = 0};
    struct captured_frame frame;
    struct capture_reader *reader;
    struct error error;
    struct stat st;

    for (uint32_t i = 0; i < report->conn_cnt && search.cnt < CONNS_MAX; i++)
        if (needs_names(&report->conn[i]))
            search.conn[search.cnt++] = &report->conn[i];
    search.missing = 2 * search.cnt;
    if (search.cnt == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    reader = reader_open(path, &error);
    if (!reader)
        return;
    if (reader_blocks(reader, note_iface, &search))
        for (unsigned i = 0; search.missing && i < FRAMES_MAX; i++) {
            if (reader_next(reader, &frame, &error) <= 0)
                break;
            take_frame(&search, &frame);
        }
    reader_close(reader);
}

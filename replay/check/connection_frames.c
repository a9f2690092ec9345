/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/connection_frames.h"

#include <stdlib.h>
#include <string.h>
#include "check/check.h"
#include "util/keymap.h"
#include "wire/cm_msg.h"

/* A packet, with the connection number that rnic/flow reported for it. */
struct numbered_packet {
    uint32_t frame, conn_index;
    /* Connection that this CM message sets up or ends; ROCE_NO_CONN for other packets. */
    uint32_t cm_conn_index;
    /* Transaction ID, equal for all messages that set up one connection; 0 for other packets. */
    uint64_t tid;
};

#define TIDS_MAX 16u /* maximum number of CM transaction ids */

struct first_pass {
    struct numbered_packet *packet;
    size_t cnt, cap;
    uint64_t tid[TIDS_MAX]; /* transaction ids of the CM messages of the connection */
    unsigned tid_cnt;
    struct narrow *narrow;
    bool no_memory, found;
};

/* Returns the transaction id of a CM message, or 0 for any other packet. */
static uint64_t tid_of(const struct roce_pkt *pkt)
{
    struct roce_cm_msg msg;

    return pkt->bth.dest_qp == ROCE_QP_GSI && roce_cm_msg_of_pkt(&msg, pkt) == 0 ? msg.mad.tid : 0;
}

static void on_packet(void *user, const struct roce_flow_in *in,
                      const struct roce_flow_result *result)
{
    struct first_pass *pass = user;

    if (pass->no_memory || !VEC_GROW(pass->packet, pass->cnt, pass->cap)) {
        pass->no_memory = true;
        return;
    }
    pass->packet[pass->cnt++] = (struct numbered_packet){in->frame, result->conn_index,
                                                         result->cm_conn_index, tid_of(in->pkt)};
}

static void set_bit(struct narrow *narrow, const struct numbered_packet *packet)
{
    narrow->frames[packet->frame / 8] |= (uint8_t)(1u << (packet->frame % 8));
}

static bool is_wanted(const struct first_pass *pass, const struct roce_flow *flow, uint32_t conn)
{
    return conn != ROCE_NO_CONN && roce_flow_conn_index(flow, conn) == pass->narrow->connection;
}

/* Adds the packet if it belongs to the connection that the user selected. If the packet is a CM
 * message, stores its transaction ID. */
static void add_packet(struct first_pass *pass, const struct roce_flow *flow,
                       const struct numbered_packet *packet)
{
    bool is_cm = is_wanted(pass, flow, packet->cm_conn_index);
    unsigned i = 0;

    if (!is_cm && !is_wanted(pass, flow, packet->conn_index))
        return;
    set_bit(pass->narrow, packet);
    pass->found = true;
    while (i < pass->tid_cnt && pass->tid[i] != packet->tid)
        i++;
    if (is_cm && packet->tid && i == pass->tid_cnt && i < TIDS_MAX)
        pass->tid[pass->tid_cnt++] = packet->tid;
}

/* Adds the CM messages that have the same transaction ID as a CM message of the connection. One of
 * these messages is the REQ: when the REQ was read, the connection had no number yet. */
static void add_exchanges(struct first_pass *pass)
{
    for (size_t i = 0; i < pass->cnt; i++)
        for (unsigned k = 0; pass->packet[i].tid && k < pass->tid_cnt; k++)
            if (pass->tid[k] == pass->packet[i].tid)
                set_bit(pass->narrow, &pass->packet[i]);
}

static void on_end(void *user, const struct roce_flow *flow)
{
    struct first_pass *pass = user;
    struct narrow *narrow = pass->narrow;
    uint32_t last = 0;

    for (size_t i = 0; i < pass->cnt; i++)
        last = pass->packet[i].frame > last ? pass->packet[i].frame : last;
    narrow->frames = calloc((size_t)last / 8 + 1, 1);
    narrow->frame_end = last + 1;
    pass->no_memory |= !narrow->frames;
    if (pass->no_memory)
        return;
    for (size_t i = 0; i < pass->cnt; i++)
        add_packet(pass, flow, &pass->packet[i]);
    add_exchanges(pass);
}

int connection_frames(const char *path, struct narrow *narrow, bool no_icrc, struct error *error)
{
    struct first_pass pass = {.narrow = narrow};
    const struct check_watch watch = {.user = &pass, .on_packet = on_packet, .on_end = on_end};
    const struct check_options options = {.no_icrc = no_icrc, .watch = &watch, .watch_cnt = 1};
    struct check_report report;
    int rc;

    if (!narrow->has_connection)
        return 0;
    if (strcmp(path, "-") == 0)
        return error_set(error, "standard input: --connection requires a file");
    rc = check_capture(path, &options, &report, error);
    check_report_free(&report);
    free(pass.packet);
    if (rc == 0 && pass.no_memory)
        rc = error_set(error, "%s: no memory", path);
    if (rc == 0 && !pass.found)
        rc = error_set(error, "%s: no connection %u (rocedrill check -v lists them)", path,
                       narrow->connection);
    return rc;
}

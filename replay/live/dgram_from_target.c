/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Plays datagram streams from the target: the target is the sender. The agent posts the recorded
 * messages one after the other. Before the comparison, the addresses, QPNs, PSNs and P_Keys in the
 * received packets are replaced by the values in the capture.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/error.h"
#include "engine/dgram/dgram_sender.h"
#include "live/agent_setup.h"
#include "live/live_dgram.h"
#include "util/hex.h"
#include "wire/gid.h"

#define SEND_DEPTH 4u            /* maximum number of outstanding work requests of a QP */
#define DATA_MAX   (256u * 1024) /* limit of the message bytes in one request to the agent */
#define POLL_NS    500000u
#define FAULTY     "the connection to the agent or the interface was lost"

struct dgram_from_target {
    struct live *live;
    struct error *error;
    bool broken;      /* the agent or the interface failed; *error has the reason */
    uint32_t qp, qpn; /* number by which the agent knows the target's QP, and QPN of this QP */
    uint32_t ours;    /* our QPN to which the target sends the current stream */
    uint32_t opened;
    int32_t psn_add; /* recorded PSN minus live PSN */
    struct live_pace pace;
    /* Message that the target is sending; NULL between two messages. */
    const struct dgram_sender_message *message;
    dgram_sender_take_fn *take;
    void *user;
    uint32_t came;
};

/* ---- received packets -------------------------------------------------------------------------
 */

/* Replaces the live addresses, QPNs, PSN and P_Key of a packet by the recorded values. */
static void rewrite_packet(const struct dgram_from_target *tx, struct roce_pkt *pkt)
{
    const struct roce_pkt *first = tx->message->first;
    uint8_t src[16], dst[16];

    roce_pkt_addr(pkt, src, dst);
    if (memcmp(src, tx->live->port.target, 16) == 0 && memcmp(dst, tx->live->port.addr, 16) == 0) {
        pkt->encap = first->encap;
        pkt->present = (pkt->present & ~(ROCE_HDR_BIT(ROCE_HDR_GRH) | ROCE_HDR_BIT(ROCE_HDR_IP4) |
                                         ROCE_HDR_BIT(ROCE_HDR_IP6))) |
                       (first->present & (ROCE_HDR_BIT(ROCE_HDR_GRH) | ROCE_HDR_BIT(ROCE_HDR_IP4) |
                                          ROCE_HDR_BIT(ROCE_HDR_IP6)));
        pkt->ip4 = first->ip4;
        pkt->ip6 = first->ip6;
        pkt->grh = first->grh;
    }
    pkt->bth.dest_qp = first->bth.dest_qp;
    pkt->bth.psn = roce_psn_add(roce_pkt_psn(pkt), tx->psn_add).v;
    if (pkt->bth.pkey == REWRITE_PKEY)
        pkt->bth.pkey = first->bth.pkey;
    if (roce_pkt_has(pkt, ROCE_HDR_DETH) && pkt->deth.src_qp == tx->qpn)
        pkt->deth.src_qp = first->deth.src_qp;
}

static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct dgram_from_target *tx = user;
    struct roce_pkt pkt;
    uint32_t idx;

    if (!live_parse(tx->live, frame, &pkt, &idx))
        return;
    if (pkt.bth.dest_qp != tx->ours || !tx->message) {
        tx->live->foreign++;
        return;
    }
    if (!live_check_icrc(tx->live, &pkt))
        return;
    rewrite_packet(tx, &pkt);
    tx->came++;
    tx->take(tx->user, &pkt);
}

/* ---- the target as a sending device ------------------------------------------------------------
 */

/* Opens a QP at the target for a stream. The target sends each stream to a different QPN of ours.
 * So a late packet of an earlier stream is not counted for the current stream. Returns NULL on
 * success, or the reason why the stream is skipped. */
static const char *open_qp(void *ctx, struct dgram_stream *stream, const struct roce_pkt *first)
{
    struct dgram_from_target *tx = ctx;
    uint32_t psn = 0;

    (void)!getrandom(&psn, sizeof(psn), 0);
    psn &= ROCE_PSN_MASK;
    tx->ours = tx->live->port.qpn + tx->opened++ % LIVE_QPNS;
    tx->psn_add = roce_psn_diff(roce_pkt_psn(first), roce_psn_of(psn));
    stream->skip = NULL;
    if (agent_setup_dgram_qp(tx->live, stream, SEND_DEPTH, 1, &tx->qp, &tx->qpn, tx->error) != 0 ||
        (!stream->skip &&
         agent_setup_dgram_connect(tx->live, stream, tx->qp, tx->ours, 0, psn, tx->error) != 0)) {
        tx->broken = true;
        return FAULTY;
    }
    return stream->skip;
}

static const char *op_name(const struct roce_opcode *op)
{
    bool imm = roce_opcode_has(op, ROCE_HDR_IMMDT);

    return op->kind == ROCE_KIND_WRITE ? (imm ? "write_imm" : "write") : imm ? "send_imm" : "send";
}

static json_t *request_of(const struct dgram_from_target *tx, const struct dgram_sender_message *m)
{
    char *hex = malloc(2 * m->len + 1);
    char dgid[INET6_ADDRSTRLEN];
    json_t *out;

    if (!hex)
        return NULL;
    hex_format(hex, m->data, m->len);
    inet_ntop(AF_INET6, tx->live->port.addr, dgid, sizeof(dgid));
    out = json_pack(
        "{s:s, s:I, s:I, s:s, s:b, s:I, s:I, s:I, s:s%, s:s, s:i, s:I, s:I}", "op", "send", "qp",
        (json_int_t)tx->qp, "id", (json_int_t)0, "opcode", op_name(m->end->op), "solicited",
        (int)(m->end->bth.se && roce_opcode_ends(m->end->op)), "imm", (json_int_t)m->end->immdt.imm,
        "remote_addr", (json_int_t)m->first->reth.va, "rkey", (json_int_t)m->first->reth.rkey,
        "hex", hex, 2 * (size_t)m->len, "dgid", dgid, "gid_index", tx->live->agent.gid_index,
        "dest_qpn", (json_int_t)tx->ours, "qkey", (json_int_t)m->first->deth.qkey);
    free(hex);
    return out;
}

/* Polls the target's CQ once. Returns the completion status of the current message, -1 if the
 * message has not completed yet, or -2 after an error. */
static int poll_status(struct dgram_from_target *tx)
{
    bool refused;
    json_t *reply =
        agent_client_call(&tx->live->agent, json_pack("{s:s}", "op", "poll"), &refused, tx->error);
    const json_t *c;
    int status = reply ? -1 : -2;
    size_t at;

    json_array_foreach(json_object_get(reply, "completions"), at, c)
    {
        if (json_integer_value(json_object_get(c, "qp")) == (json_int_t)tx->qp)
            status = (int)json_integer_value(json_object_get(c, "status"));
    }
    json_decref(reply);
    return status;
}

static const char *mark_broken(struct dgram_from_target *tx)
{
    tx->broken = true;
    return FAULTY;
}

static const char *post_message(void *ctx, const struct dgram_sender_message *m,
                                dgram_sender_take_fn *take_packet, void *user, int *status)
{
    struct dgram_from_target *tx = ctx;
    const char *why = NULL;
    uint8_t src[16], dst[16];
    uint64_t limit;
    json_t *reply;

    roce_pkt_addr(m->first, src, dst);
    if (roce_gid_is_multicast(dst))
        return "multicast: our port is not a member of the group";
    if (m->len > DATA_MAX)
        return "a message is longer than the agent supports";
    if (live_pace_wait(tx->live, &tx->pace, m->time, tx->error) != 0)
        return mark_broken(tx);
    tx->message = m;
    tx->take = take_packet;
    tx->user = user;
    tx->came = 0;
    reply = agent_setup_call(tx->live, request_of(tx, m), &why, tx->error);
    if (!reply)
        return why ? why : mark_broken(tx);
    json_decref(reply);
    live_pace_set(&tx->pace, m->time);
    limit = tx->pace.at + tx->live->options->tolerance_ns;
    *status = -1;
    while ((*status == -1 || tx->came < m->psn_cnt) && live_now() < limit) {
        if (*status == -1)
            *status = poll_status(tx);
        if (*status == -2 || live_poll(tx->live, live_now() + POLL_NS, tx->error) != 0)
            return mark_broken(tx);
    }
    tx->message = NULL;
    return NULL;
}

int dgram_from_target_play(struct live *live, struct dgram_streams *streams, struct error *error)
{
    struct dgram_from_target tx = {.live = live, .error = error};
    const struct dgram_sender_device device = {.ctx = &tx, .open = open_qp, .post = post_message};
    int rc;

    live->take = take_frame;
    live->take_ctx = &tx;
    rc = dgram_senders_play_with(streams, &device);
    live->take = NULL;
    if (tx.broken)
        return -1;
    return rc == 0 ? 0 : error_set(error, "no memory");
}

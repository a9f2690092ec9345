/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/error.h"
#include "wire/gid.h"

/* The well-known Q_Key of QP 1 (R171). */
#define GSI_QKEY UINT32_C(0x80010000)

static const struct cm_exchange *exchange_of(const struct live_cm *cm, uint32_t exch)
{
    return &cm->exchanges->at[cm->exch[exch].idx];
}

static struct cm_exchange_end *peer_result(const struct live_cm *cm, uint32_t exch)
{
    return &cm->exchanges->at[cm->exch[exch].idx].end[!cm->ours];
}

/* ---- opening and listening ---------------------------------------------------------------------
 */

/* Returns the live service ID for the recorded service ID `service`. The live port number differs
 * if the user chose one. */
static uint64_t live_service(const struct live_cm *cm, uint64_t service)
{
    uint16_t port = cm->live->options->port;

    if (!port || !roce_cm_sid_is_ip(service))
        return service;
    return (service & ~UINT64_C(0xFFFF)) | port;
}

/* Reads from the recorded messages of an exchange the QPNs and PSNs of both endpoints, and which
 * packet is the REP. */
static void read_recorded(struct live_cm *cm, struct live_cm_exchange *exch)
{
    const struct cm_exchange *x = &cm->exchanges->at[exch->idx];
    const struct trace *trace = cm->exchanges->trace;
    bool theirs = false, ours = false;
    struct roce_cm_msg msg;

    for (size_t i = 0; i < x->cnt; i++) {
        bool far = cm_exchange_is_from(cm->exchanges, x, !cm->ours, i);

        cm_exchange_message(trace, x->pkt[i], &msg);
        theirs |= far;
        ours |= !far;
        if (trace->pkt[x->pkt[i]].cut || trace->pkt[x->pkt[i]].zero_filled)
            exch->skip = "the capture is truncated: CM messages are incomplete";
        if (msg.kind == ROCE_CM_REQ) {
            exch->rec_qpn[CM_ACTIVE] = msg.req.local_qpn;
            exch->rec_psn[CM_ACTIVE] = msg.req.starting_psn;
            if (msg.req.transport != ROCE_CM_TRANSPORT_RC)
                exch->skip = "the connection is not RC";
        } else if (msg.kind == ROCE_CM_REP) {
            exch->rec_qpn[CM_PASSIVE] = roce_cm_rep_qpn(&msg.rep);
            exch->rec_psn[CM_PASSIVE] = msg.rep.starting_psn;
            exch->connected = x->pkt[i];
        }
    }
    if (x->sidr)
        exch->skip = "SIDR: replay --live does not play the datagrams of a UD service";
    else if (!theirs)
        exch->skip = "the capture contains no message of the target's endpoint";
    else if (!ours)
        exch->skip = "the capture contains no message of our endpoint";
}

static int listen_for(struct live_cm *cm, uint64_t service, struct error *error)
{
    struct rnic_cm_id *id;
    int rc;

    id = rnic_cm_id_new(cm->cm, NULL);
    if (!id)
        return error_set(error, "no memory");
    cm->listener[cm->listener_cnt++] = id;
    rc = rnic_cm_listen(id, service, NULL);
    return rc == 0 || rc == RNIC_ERR_EXISTS ? 0 : error_set(error, "%s", rnic_error_text(rc));
}

int live_cm_open(struct live_cm *cm, struct live *live, struct cm_exchanges *xs,
                 struct error *error)
{
    struct rnic_cm_attr attr = {.ca_guid = 0};
    uint32_t random[5];

    *cm = (struct live_cm){.live = live,
                           .exchanges = xs,
                           .ours = live->options->cm == LIVE_CM_CONNECT ? CM_ACTIVE : CM_PASSIVE};
    if (cm_exchanges_find(xs, live->drive->trace) != 0)
        return error_set(error, "no memory");
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return error_set(error, "no random numbers");
    attr.seed[0] = random[0];
    attr.seed[1] = random[1];
    attr.ca_guid =
        /* the bit that marks a locally administered MAC address */
        UINT64_C(0x0200000000000000) | ((uint64_t)random[2] << 16);
    cm->psn = random[3] & ROCE_PSN_MASK;
    cm->cm = rnic_cm_new(&attr);
    cm->exch = calloc(xs->cnt + 1, sizeof(*cm->exch));
    cm->listener = calloc(xs->cnt + 1, sizeof(struct rnic_cm_id *));
    if (!cm->cm || !cm->exch || !cm->listener)
        return error_set(error, "no memory");
    for (uint32_t i = 0; i < xs->cnt; i++) {
        struct live_cm_exchange *exch = &cm->exch[cm->cnt++];

        exch->idx = i;
        exch->our_qpn = live->port.qpn + i;
        exch->psn_in = (random[4] + i * 0x1000u) & ROCE_PSN_MASK;
        read_recorded(cm, exch);
        if (!exch->skip && i >= LIVE_QPNS)
            exch->skip = "more connections than free QPNs";
        if (!exch->skip && cm->ours == CM_PASSIVE &&
            listen_for(cm, live_service(cm, xs->at[i].service_id), error) != 0)
            return -1;
    }
    return 0;
}

void live_cm_close(struct live_cm *cm)
{
    rnic_cm_del(cm->cm);
    free(cm->exch);
    free(cm->listener);
    cm->cm = NULL;
    cm->exch = NULL;
    cm->listener = NULL;
    cm->cnt = 0;
}

/* ---- packets to and from QP 1 ------------------------------------------------------------------
 */

static void send_mad(struct live_cm *cm, const uint8_t *mad)
{
    const struct rewrite_path *path = &cm->live->path;
    bool ip4 = roce_gid_is_ip4(path->target);
    uint8_t buf[ROCE_MAD_SIZE + 256];
    struct rnic_frame frame = {.data = buf};
    struct error error;
    struct roce_pkt pkt;
    int len;

    roce_pkt_init(&pkt, ip4 ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6, ROCE_OP_UD_SEND_ONLY);
    memcpy(pkt.eth.dst, path->dmac, 6);
    memcpy(pkt.eth.src, path->mac, 6);
    if (ip4) {
        memcpy(pkt.ip4.src, path->addr + 12, 4);
        memcpy(pkt.ip4.dst, path->target + 12, 4);
    } else {
        memcpy(pkt.ip6.src, path->addr, 16);
        memcpy(pkt.ip6.dst, path->target, 16);
    }
    pkt.udp.sport = 0xC001;
    pkt.bth.dest_qp = ROCE_QP_GSI;
    pkt.bth.psn = cm->psn;
    cm->psn = (cm->psn + 1) & ROCE_PSN_MASK;
    pkt.deth.qkey = GSI_QKEY;
    pkt.deth.src_qp = ROCE_QP_GSI;
    pkt.payload = mad;
    pkt.payload_len = ROCE_MAD_SIZE;
    len = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    if (len <= 0)
        return;
    frame.len = (uint32_t)len;
    cm->live->sent++;
    /* The error is ignored: our CM retransmits a message that was not sent. */
    live_port_send(&cm->live->port, &frame, 1, &error);
}

void live_cm_take(struct live_cm *cm, const struct roce_pkt *pkt)
{
    struct rnic_cm_addr addr;
    uint8_t src[16], dst[16];

    if (pkt->bth.opcode != ROCE_OP_UD_SEND_ONLY || pkt->deth.qkey != GSI_QKEY ||
        pkt->payload_len != ROCE_MAD_SIZE)
        return;
    roce_pkt_addr(pkt, src, dst);
    if (memcmp(src, cm->live->port.target, 16) != 0 || memcmp(dst, cm->live->port.addr, 16) != 0)
        return;
    memcpy(addr.local, dst, 16);
    memcpy(addr.remote, src, 16);
    rnic_cm_input(cm->cm, pkt->payload, pkt->payload_len, &addr, live_now());
    live_cm_tick(cm);
}

/* ---- events of our CM --------------------------------------------------------------------------
 */

/* Finds the recorded exchange to which the REQ in `event`, received from the target, belongs. This
 * is the first recorded exchange with the same service ID that has no live REQ yet. Returns NULL if
 * there is none. */
static struct live_cm_exchange *exchange_of_req(struct live_cm *cm,
                                                const struct rnic_cm_event *event)
{
    for (uint32_t i = 0; i < cm->cnt; i++) {
        struct live_cm_exchange *exch = &cm->exch[i];

        if (!exch->skip && !exch->id && event->msg.kind == ROCE_CM_REQ &&
            live_service(cm, exchange_of(cm, i)->service_id) == event->msg.req.service_id) {
            exch->id = event->id;
            rnic_cm_id_set_user(event->id, exch);
            return exch;
        }
    }
    return NULL;
}

static void handle_event(struct live_cm *cm, const struct rnic_cm_event *event)
{
    struct live_cm_exchange *exch = rnic_cm_id_user(event->id);
    const struct roce_cm_msg *msg = &event->msg;

    if (event->type == RNIC_CM_REQUEST)
        exch = exchange_of_req(cm, event);
    if (!exch) {
        if (event->type == RNIC_CM_REQUEST)
            /* Reject this REQ: the target opens more connections than were recorded. */
            rnic_cm_id_del(event->id, live_now());
        return;
    }
    if (msg->kind < ROCE_CM_MSG_CNT && !exch->received[msg->kind]) {
        exch->received[msg->kind] = true;
        exch->msg[msg->kind] = *msg;
    }
    switch (event->type) {
    case RNIC_CM_REQUEST:
        exch->their_qpn = msg->req.local_qpn;
        exch->psn_out = msg->req.starting_psn;
        break;
    case RNIC_CM_RESPONSE:
        exch->their_qpn = roce_cm_rep_qpn(&msg->rep);
        exch->psn_out = msg->rep.starting_psn;
        exch->up = true;
        break;
    case RNIC_CM_REJECTED:
    case RNIC_CM_UNREACHABLE:
    case RNIC_CM_DISCONNECTED: exch->gone = true; break;
    default: break;
    }
}

uint64_t live_cm_tick(struct live_cm *cm)
{
    struct rnic_cm_event event;
    struct rnic_cm_addr addr;
    uint8_t mad[ROCE_MAD_SIZE];
    uint64_t now = live_now();

    if (rnic_cm_deadline(cm->cm) <= now)
        rnic_cm_expire(cm->cm, now);
    while (rnic_cm_event(cm->cm, &event))
        handle_event(cm, &event);
    while (rnic_cm_output(cm->cm, mad, &addr))
        send_mad(cm, mad);
    return rnic_cm_deadline(cm->cm);
}

/* ---- messages of our end ----------------------------------------------------------------------
 */

static void connect_to(struct live_cm *cm, struct live_cm_exchange *exch, struct roce_cm_msg *msg)
{
    const struct live_port *port = &cm->live->port;
    struct roce_cm_req *req = &msg->req;
    struct roce_cm_rdmaip ip;
    struct rnic_cm_addr addr;

    /* The private data may begin with an IP CM header (R242). Replace its addresses. */
    if (roce_cm_rdmaip_read(&ip, msg) == 0) {
        bool ip4 = roce_gid_is_ip4(port->target);

        ip.ipv = ip4 ? 4 : 6;
        memcpy(ip.src, port->addr, 16);
        memcpy(ip.dst, port->target, 16);
        if (ip4) {
            memset(ip.src, 0, 12);
            memset(ip.dst, 0, 12);
        }
        roce_cm_rdmaip_write(&ip, msg);
    }
    req->service_id = live_service(cm, req->service_id);
    req->local_qpn = exch->our_qpn;
    req->starting_psn = exch->psn_in;
    memcpy(req->primary_local_gid, port->addr, 16);
    memcpy(req->primary_remote_gid, port->target, 16);
    memcpy(addr.local, port->addr, 16);
    memcpy(addr.remote, port->target, 16);
    exch->id = rnic_cm_id_new(cm->cm, exch);
    if (exch->id)
        rnic_cm_connect(exch->id, req, &addr, live_now());
}

void live_cm_act(struct live_cm *cm, uint32_t idx, size_t i)
{
    struct live_cm_exchange *exch = &cm->exch[idx];
    struct roce_cm_msg msg;
    const uint8_t *data;
    uint64_t now = live_now();
    size_t len;

    cm_exchange_message(cm->exchanges->trace, exchange_of(cm, idx)->pkt[i], &msg);
    /* Let our CM send each kind of message once. Skip recorded retransmissions, because our CM
     * decides when to retransmit. */
    if (exch->sent[msg.kind] || (!exch->id && msg.kind != ROCE_CM_REQ))
        return;
    exch->sent[msg.kind] = true;
    data = roce_cm_private_data(&msg, &len);
    switch (msg.kind) {
    case ROCE_CM_REQ: connect_to(cm, exch, &msg); break;
    case ROCE_CM_REP:
        msg.rep.local_qpn = exch->our_qpn;
        msg.rep.starting_psn = exch->psn_in;
        exch->up = rnic_cm_accept(exch->id, &msg.rep, now) == 0;
        break;
    case ROCE_CM_RTU: rnic_cm_establish(exch->id, data, len, now); break;
    case ROCE_CM_REJ:
        rnic_cm_reject(exch->id, (enum roce_cm_rej_reason)msg.rej.reason, data, len, now);
        break;
    case ROCE_CM_DREQ:
    case ROCE_CM_DREP: rnic_cm_disconnect(exch->id, data, len, now); break;
    default: break;
    }
    live_cm_tick(cm);
}

int live_cm_leave(struct live_cm *cm, struct error *error)
{
    uint64_t limit = live_now() + cm->live->options->tolerance_ns;

    for (uint32_t i = 0; i < cm->cnt; i++)
        if (cm->exch[i].id) {
            rnic_cm_id_del(cm->exch[i].id, live_now());
            cm->exch[i].id = NULL;
        }
    live_cm_tick(cm);
    while (rnic_cm_disconnecting(cm->cm) && live_now() < limit)
        if (live_poll(cm->live, limit, error) != 0)
            return -1;
    return 0;
}

/* ---- messages of the target -------------------------------------------------------------------
 */

/* Fields that the target's program chooses, so they must equal the recorded ones. All other fields
 * are IDs, QPNs and PSNs of the endpoint, or properties of its device. */
static const char *const compared_fields[] = {"service_id",
                                              "responder_resources",
                                              "initiator_depth",
                                              "retry_count",
                                              "rnr_retry_count",
                                              "transport",
                                              "pkey",
                                              "message",
                                              "reason",
                                              "failover_accepted"};

static void compare_fields(const struct live_cm *cm, const struct live_cm_exchange *exch,
                           const struct roce_cm_msg *want, const struct roce_cm_msg *is,
                           struct field_diffs *d)
{
    const struct roce_hdr_info *info = roce_cm_info(want->kind);
    uint8_t recorded[ROCE_MAD_SIZE], live[ROCE_MAD_SIZE];

    if (roce_cm_msg_build(want, recorded, sizeof(recorded)) != ROCE_MAD_SIZE ||
        roce_cm_msg_build(is, live, sizeof(live)) != ROCE_MAD_SIZE)
        return;
    for (size_t i = 0; i < sizeof(compared_fields) / sizeof(compared_fields[0]); i++) {
        const struct roce_field *field = roce_field_find(info, compared_fields[i]);
        uint64_t expected;

        if (!field)
            continue;
        expected = roce_field_get(field, recorded + ROCE_MAD_LEN);
        if (field->name[0] == 's')
            expected = live_service(cm, expected);
        field_diff_add_num(d, field->name, field->name[0] == 's' ? FIELD_HEX : FIELD_NUMBER,
                           expected, roce_field_get(field, live + ROCE_MAD_LEN));
    }
    /* Our packets have the recorded path MTU, so the target must request the same path MTU. */
    if (want->kind == ROCE_CM_REQ && exch->mtu_matters)
        field_diff_add_num(d, "mtu", FIELD_NUMBER, want->req.mtu, is->req.mtu);
}

/* Reads the live R_Keys in the private data of the target's message. Compares the other bytes with
 * the recorded message `want`. */
static void learn_private(const struct live_cm *cm, uint32_t idx, const struct roce_cm_msg *want,
                          live_private_fn *learn, void *ctx, struct field_diffs *d)
{
    const struct roce_cm_msg *is = &cm->exch[idx].msg[want->kind];
    struct roce_cm_rdmaip a, b;
    uint8_t live[ROCE_MAD_SIZE];
    size_t len, from = 0;
    const uint8_t *recorded = roce_cm_private_data(want, &len);
    char e[32], o[16];

    memcpy(live, roce_cm_private_data(is, &len), len);
    if (roce_cm_rdmaip_read(&a, want) == 0 && roce_cm_rdmaip_read(&b, is) == 0)
        /* Skip the IP CM header, which contains live ports and addresses. */
        from = ROCE_CM_RDMAIP_LEN;
    learn(ctx, idx, recorded + from, live + from, len - from);
    while (from < len && recorded[from] == live[from])
        from++;
    if (from == len || cm->live->options->any_payload)
        return;
    snprintf(e, sizeof(e), "0x%02x in byte %zu", recorded[from], from);
    snprintf(o, sizeof(o), "0x%02x", live[from]);
    field_diff_add(d, "private_data", e, o);
}

/* Returns the other possible reply to a REQ: REJ for REP, REP for REJ. An endpoint sends only one
 * of the two. For any other kind of message, returns `kind`. */
static enum roce_cm other_answer(enum roce_cm kind)
{
    return kind == ROCE_CM_REP ? ROCE_CM_REJ : kind == ROCE_CM_REJ ? ROCE_CM_REP : kind;
}

/* Describes the message that arrived instead of the expected message of kind `want`. */
static void describe_received(const struct live_cm_exchange *exch, enum roce_cm want, char *out,
                              size_t cap)
{
    if (exch->received[ROCE_CM_REJ])
        snprintf(out, cap, "REJ, reason %u", (unsigned)exch->msg[ROCE_CM_REJ].rej.reason);
    else if (exch->received[ROCE_CM_DREQ])
        snprintf(out, cap, "DREQ");
    else
        snprintf(out, cap, "%s",
                 exch->received[other_answer(want)] ? roce_cm_name(other_answer(want)) : "none");
}

int live_cm_expect(struct live_cm *cm, uint32_t idx, size_t i, uint64_t ns, live_private_fn *learn,
                   void *ctx, struct error *error)
{
    struct live_cm_exchange *exch = &cm->exch[idx];
    struct cm_exchange_end *end = peer_result(cm, idx);
    uint64_t limit = live_now() + ns;
    uint32_t pkt = exchange_of(cm, idx)->pkt[i];
    struct field_diffs d = {.cnt = 0};
    struct roce_cm_msg want;
    char text[96];

    cm_exchange_message(cm->exchanges->trace, pkt, &want);
    if (want.kind == ROCE_CM_MRA || want.kind == ROCE_CM_LAP || want.kind == ROCE_CM_APR) {
        end->optional++;
        return 0;
    }
    if (exch->compared[want.kind] || end->stopped)
        /* Only the first message of each kind is compared. Timers decide how often a CM retransmits
         * it. */
        return 0;
    while (!exch->received[want.kind] && !exch->received[other_answer(want.kind)] && !exch->gone &&
           live_now() < limit)
        if (live_poll(cm->live, limit, error) != 0)
            return -1;
    /* If both endpoints disconnect simultaneously, each may miss the DREQ of its peer, or treat it
     * as a DREP. A missing DREQ or DREP is then not a difference. */
    if (!exch->received[want.kind] && exch->gone && exch->sent[ROCE_CM_DREQ])
        return 0;
    exch->compared[want.kind] = true;
    end->compared++;
    if (exch->received[want.kind]) {
        compare_fields(cm, exch, &want, &exch->msg[want.kind], &d);
        learn_private(cm, idx, &want, learn, ctx, &d);
    } else {
        describe_received(exch, want.kind, text, sizeof(text));
        field_diff_add(&d, "message", roce_cm_name(want.kind), text);
        end->stopped = "an earlier message of the target differs";
    }
    return cm_exchange_report(cm->exchanges, exch->idx, !cm->ours, pkt, &d,
                              d.cnt && exch->received[want.kind]
                                  ? "the target sends this message with other fields"
                                  : "the target does not send this message") == 0
               ? 0
               : error_set(error, "no memory");
}

void live_cm_judge(struct live_cm *cm)
{
    for (uint32_t i = 0; i < cm->cnt; i++) {
        struct cm_exchange_end *end = peer_result(cm, i);

        end->skip = cm->exch[i].skip;
        if (!end->skip && !end->compared)
            end->skip =
                "the capture contains no message of the target's endpoint that can be compared";
        end->verdict = end->diff_cnt ? VERDICT_FAIL : end->skip ? VERDICT_SKIPPED : VERDICT_PASS;
    }
}

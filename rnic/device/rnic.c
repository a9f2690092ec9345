/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/rnic.h"

#include <stdlib.h>
#include <string.h>
#include "device/device.h"
#include "device/output_packet.h"
#include "device/steer.h"
#include "transport/fault.h"
#include "transport/raw.h"
#include "wire/codes.h"
#include "wire/pkt.h"

const char *rnic_error_text(int error)
{
    switch ((enum rnic_error)error) {
    case RNIC_OK: return "no error";
    case RNIC_ERR_NOMEM: return "no memory, or a device limit is reached";
    case RNIC_ERR_INVALID: return "an argument is out of range";
    case RNIC_ERR_BUSY: return "the object is still in use";
    case RNIC_ERR_EXISTS: return "the QPN or key is in use";
    case RNIC_ERR_STATE: return "not allowed in this QP state";
    case RNIC_ERR_FULL: return "the queue is full";
    }
    return "unknown error";
}

struct rnic *rnic_new(const struct rnic_attr *attr)
{
    struct rnic *rnic;

    if (attr->gid_cnt < 1 || attr->gid_cnt > RNIC_GID_MAX || !rnic_pkey_cnt_valid(attr) ||
        (attr->mtu && roce_mtu_code(attr->mtu) == 0) || !rnic_ecn_valid(&attr->ecn) ||
        !rnic_qpn_range_valid(attr))
        return NULL;
    rnic = calloc(1, sizeof(*rnic));
    if (!rnic)
        return NULL;
    rnic->attr = *attr;
    if (rnic->attr.mtu == 0)
        rnic->attr.mtu = 4096;
    if (rnic->attr.pkey_cnt == 0)
        rnic->attr.pkey[rnic->attr.pkey_cnt++] = 0xFFFF;
    rnic->limits = rnic_limits_of(&rnic->attr);
    rnic_entropy_init(&rnic->entropy, attr->seed, attr->unpredictable);
    rnic_timers_init(&rnic->timers);
    rnic_delayed_ack_init(&rnic->delayed_ack);
    rnic_list_init(&rnic->cnps);
    rnic_list_init(&rnic->ready);
    rnic_list_init(&rnic->armed);
    rnic_list_init(&rnic->notified);
    rnic_list_init(&rnic->pds);
    rnic_list_init(&rnic->mrs);
    rnic_list_init(&rnic->mws);
    rnic_list_init(&rnic->cqs);
    rnic_list_init(&rnic->qps);
    rnic_list_init(&rnic->ahs);
    rnic_list_init(&rnic->srqs);
    rnic_list_init(&rnic->xrcds);
    rnic_list_init(&rnic->steers);
    return rnic;
}

void rnic_del(struct rnic *rnic)
{
    if (!rnic)
        return;
    rnic_mcast_free(rnic);
    while (!rnic_list_empty(&rnic->steers))
        rnic_steer_del(RNIC_LIST_OF(rnic->steers.next, struct rnic_steer, link));
    while (!rnic_list_empty(&rnic->ahs))
        rnic_ah_del(RNIC_LIST_OF(rnic->ahs.next, struct rnic_ah, link));
    /* Windows are destroyed first, because bound 2A windows prevent the destruction of a QP
     * (R213). */
    while (!rnic_list_empty(&rnic->mws))
        rnic_mw_del(RNIC_LIST_OF(rnic->mws.next, struct rnic_mw, link));
    while (!rnic_list_empty(&rnic->qps))
        rnic_qp_del(RNIC_LIST_OF(rnic->qps.next, struct rnic_qp, link));
    while (!rnic_list_empty(&rnic->srqs))
        rnic_srq_free(RNIC_LIST_OF(rnic->srqs.next, struct rnic_srq, link));
    while (!rnic_list_empty(&rnic->xrcds))
        rnic_xrcd_del(RNIC_LIST_OF(rnic->xrcds.next, struct rnic_xrcd, link));
    while (!rnic_list_empty(&rnic->mrs))
        rnic_mr_dereg(RNIC_LIST_OF(rnic->mrs.next, struct rnic_mr, link));
    while (!rnic_list_empty(&rnic->cqs))
        rnic_cq_free(RNIC_LIST_OF(rnic->cqs.next, struct rnic_cq, link));
    while (!rnic_list_empty(&rnic->pds))
        rnic_pd_del(RNIC_LIST_OF(rnic->pds.next, struct rnic_pd, link));
    rnic_map_free(&rnic->keys);
    rnic_map_free(&rnic->windows);
    rnic_map_free(&rnic->qpns);
    rnic_map_free(&rnic->srqns);
    rnic_pacer_free(&rnic->pacer);
    rnic_heap_free(&rnic->moderated);
    rnic_slab_free(&rnic->slab);
    free(rnic);
}

/* ---- receiving a frame ----------------------------------------------------------------------- */

/* Returns true if the frame's destination is the MAC address of the port or of a multicast group.
 * The source MAC address is not checked (R053). */
static bool mac_is_mine(const struct rnic *rnic, const uint8_t dst[6])
{
    return (dst[0] & 1) != 0 || memcmp(dst, rnic->attr.mac, sizeof(rnic->attr.mac)) == 0;
}

/* Returns whether the address is a GID of the port (R052). */
static bool gid_is_mine(const struct rnic *rnic, enum roce_encap encap, const uint8_t dst[16])
{
    enum rnic_gid_type type = encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    struct rnic_gid gid;

    for (unsigned i = 0; i < rnic->attr.gid_cnt; i++)
        if (rnic->attr.gid[i].type == type && memcmp(rnic->attr.gid[i].gid, dst, 16) == 0 &&
            rnic_gid_get(rnic, i, &gid)) /* the slot is not empty */
            return true;
    return false;
}

/* Parses a frame into rnic->rx. Returns false and counts the frame if it is not a valid packet
 * (R016, R028, R029). The ICRC is checked later. */
static bool form_valid(struct rnic *rnic, const uint8_t *frame, size_t len)
{
    struct roce_pkt *pkt = &rnic->rx;
    int error = roce_pkt_parse_fast(pkt, ROCE_LINK_ETHERNET, frame, len, len)
                    ? 0
                    : roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, frame, len, len);

    rnic->counters.rx_packets++;
    rnic->counters.rx_bytes += len;
    if (error == ROCE_ERR_NOT_ROCE || (!error && !mac_is_mine(rnic, pkt->eth.dst))) {
        rnic->counters.rx_not_roce++;
        return false;
    }
    /* Packets with a reserved opcode of a reliable service are passed on: the responder sends a NAK
     * (R031). */
    if (!error && (pkt->op->svc == ROCE_SVC_RC || pkt->op->svc == ROCE_SVC_XRC))
        pkt->defects &= ~(UINT32_C(1) << ROCE_DEFECT_OPCODE);
    if (error || roce_pkt_dropped(pkt) || roce_pkt_defect(pkt, ROCE_DEFECT_IP_CHECKSUM_0)) {
        rnic->counters.rx_malformed++;
        return false;
    }
    return true;
}

/* Returns the QP with the destination QPN of a packet, or NULL. Prefetches the parts of the QP that
 * the packet needs. */
static struct rnic_qp *fetch_qp(const struct rnic *rnic, const struct roce_pkt *pkt)
{
    struct rnic_qp *qp = rnic_map_get(&rnic->qpns, pkt->bth.dest_qp);

    if (!qp)
        return NULL;
    if (roce_opcode_is_response(pkt->op))
        rnic_qp_prefetch_requester(qp);
    else
        rnic_qp_prefetch_responder(qp);
    return qp;
}

/* Returns true if the packet is acceptable for its QP (R046-R052, R054). A failed check never moves
 * a QP to the error state (R056). */
static bool is_for(const struct rnic *rnic, const struct rnic_qp *qp, const struct roce_pkt *pkt)
{
    uint8_t src[16];
    uint8_t dst[16];

    if (pkt->op->svc != qp->service->svc || !rnic_qp_accepts(qp, pkt->op))
        return false;
    roce_pkt_addr(pkt, src, dst);
    return gid_is_mine(rnic, pkt->encap, dst) &&
           (!qp->service->connected || rnic_qp_addr_fits(qp, pkt->encap, src, dst));
}

/* Delivers a datagram to a multicast group. Each attached QP receives or drops it independently
 * (R175). */
static void deliver(struct rnic *rnic, const struct rnic_mcast_group *group,
                    const struct roce_pkt *pkt, rnic_time now)
{
    for (struct rnic_list *at = group->members.next; at != &group->members; at = at->next) {
        struct rnic_qp *qp = RNIC_LIST_OF(at, struct rnic_mcast_member, link)->qp;

        if (!rnic_qp_accepts(qp, pkt->op))
            continue;
        if (rnic_qp_pkey_fits(qp, pkt->bth.pkey))
            rnic_qp_input(qp, pkt, now);
        else
            rnic->counters.rx_bad_pkey++;
        if (RNIC_FAULT(GROUP_FIRST))
            break;
    }
}

static const struct rnic_mcast_group *find_group(const struct rnic *rnic,
                                                 const struct roce_pkt *pkt)
{
    uint8_t src[16];
    uint8_t dst[16];

    roce_pkt_addr(pkt, src, dst);
    return rnic_mcast_find(rnic, dst);
}

static void input_multicast(struct rnic *rnic, const struct roce_pkt *pkt, rnic_time now)
{
    const struct rnic_mcast_group *group = find_group(rnic, pkt);

    if (group) {
        rnic->counters.rx_multicast++;
        deliver(rnic, group, pkt, now);
    } else {
        rnic->counters.rx_no_group++;
    }
}

/* Processes a well-formed packet. `qp` is the QP with the packet's destination QPN, or NULL. */
static void input_packet(struct rnic *rnic, const struct roce_pkt *pkt, struct rnic_qp *qp,
                         rnic_time now)
{
    if (pkt->op->kind == ROCE_KIND_CNP) {
        rnic_cnp_input(rnic, pkt, now);
        return;
    }
    /* a datagram to a multicast group (R048) */
    if (pkt->bth.dest_qp == ROCE_QP_MULTICAST && pkt->op->svc == ROCE_SVC_UD) {
        input_multicast(rnic, pkt, now);
        return;
    }
    if (!qp || !is_for(rnic, qp, pkt))
        rnic->counters.rx_no_qp++;
    else if (!rnic_qp_pkey_fits(qp, pkt->bth.pkey))
        rnic->counters.rx_bad_pkey++;
    else {
        if (qp->service->connected && rnic_cnp_is_marked(pkt)) /* a CE-marked packet may cause a CNP
                                                                * (R215) */
            rnic_cnp_marked(qp, pkt, now);
        rnic_qp_input(qp, pkt, now);
    }
}

void rnic_input(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now)
{
    const struct roce_pkt *pkt = &rnic->rx;
    struct rnic_qp *qp;

    now = rnic_clock(rnic, now);
    if (!form_valid(rnic, frame, len))
        return;
    /* Prefetch the QP now: the fetch proceeds while the CRC is computed. */
    qp = fetch_qp(rnic, pkt);
    if (roce_pkt_icrc_check(pkt, NULL) == ROCE_ICRC_GOOD || RNIC_FAULT(ICRC_ANY))
        input_packet(rnic, pkt, qp, now); /* never for a wrong ICRC (R023) */
    else
        rnic->counters.rx_icrc_encapsulated++;
}

void rnic_input_without_icrc(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now)
{
    now = rnic_clock(rnic, now);
    if (form_valid(rnic, frame, len))
        input_packet(rnic, &rnic->rx, fetch_qp(rnic, &rnic->rx), now);
}

/* ---- sending a frame ------------------------------------------------------------------------- */

/* Writes the packet in rnic->tx to `buf`. Returns its length, or a negative error. */
static int build_frame(struct rnic *rnic, uint8_t *buf, size_t cap)
{
    /* the ICRC in rnic->tx is 0; with ROCE_BUILD_KEEP_ICRC, roce_pkt_build() writes this 0 */
    return roce_pkt_build(&rnic->tx, rnic->attr.no_icrc ? ROCE_BUILD_KEEP_ICRC : 0, buf, cap);
}

static size_t sent(struct rnic *rnic, int len)
{
    rnic->counters.tx_packets++;
    rnic->counters.tx_bytes += (unsigned)len;
    return (size_t)len;
}

/* Moves paced QPs to the list of ready QPs after their delay has ended. */
static void release_paced(struct rnic *rnic, rnic_time now)
{
    struct rnic_cc *cc;

    while ((cc = rnic_pacer_due(&rnic->pacer, now)) != NULL)
        if (rnic_list_empty(&cc->qp->ready))
            rnic_list_add(&rnic->ready, &cc->qp->ready);
}

/* If the delay has ended, moves the QPs with a delayed ACK to the list of ready QPs. */
static void release_acks(struct rnic *rnic, rnic_time now)
{
    if (rnic->delayed_ack.until <= now)
        rnic_delayed_ack_release(&rnic->delayed_ack, &rnic->ready);
}

/* Delivers a sent multicast packet also to the members of the group in this device, because the
 * network does not return the packet. */
static void loop_multicast(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now)
{
    const struct rnic_mcast_group *group;
    struct roce_pkt pkt;

    if (rnic->groups.cnt == 0 || roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0)
        return;
    group = find_group(rnic, &pkt);
    if (group)
        deliver(rnic, group, &pkt, now);
}

/* Removes the first QP from the list of ready QPs and returns it. Skips QPs that delay an ACK.
 * Returns NULL if no QP is ready. */
static struct rnic_qp *take_ready(struct rnic *rnic)
{
    while (!rnic_list_empty(&rnic->ready)) {
        struct rnic_qp *qp = RNIC_LIST_OF(rnic->ready.next, struct rnic_qp, ready);

        rnic_list_del(&qp->ready);
        /* Prefetch the next ready QP, which is not in a cache if there are many QPs. */
        __builtin_prefetch(rnic->ready.next);
        if (!rnic_delayed_ack_take(&rnic->delayed_ack, qp))
            return qp;
    }
    return NULL;
}

/* Sends one packet of the first ready QP, which then moves to the end of the list. Therefore a QP
 * with many READ responses does not make another QP wait until all of them are sent (R251). */
size_t rnic_output(struct rnic *rnic, uint8_t *buf, size_t cap, rnic_time now)
{
    struct rnic_qp *qp;

    if (cap < ROCE_FRAME_MAX)
        return 0;
    now = rnic_clock(rnic, now);
    while (!rnic_list_empty(&rnic->cnps) && rnic_cnp_output(rnic, &rnic->tx, now)) {
        int len = build_frame(rnic, buf, cap);

        if (len > 0)
            return sent(rnic, len);
    }
    release_paced(rnic, now);
    release_acks(rnic, now);
    while ((qp = take_ready(rnic)) != NULL) {
        int len = 0;

        if (qp->type == RNIC_QPT_RAW_PACKET) {
            len = (int)rnic_raw_output(&qp->req, buf);
            rnic_qp_settle(qp);
            if (len > 0)
                return sent(rnic, len);
            continue;
        }
        if (rnic_qp_output(qp, &rnic->tx, now))
            len = build_frame(rnic, buf, cap);
        if (len > 0) {
            rnic_pace_sent(qp, &rnic->tx, (size_t)len, now);
            if (rnic->tx.bth.dest_qp == ROCE_QP_MULTICAST)
                loop_multicast(rnic, buf, (size_t)len, now);
            return sent(rnic, len);
        }
    }
    rnic_timers_trim(&rnic->timers);
    return 0;
}

const struct roce_pkt *rnic_output_packet(struct rnic *rnic, rnic_time now)
{
    struct roce_pkt *pkt = &rnic->tx;
    struct rnic_qp *qp;

    now = rnic_clock(rnic, now);
    while ((qp = take_ready(rnic)) != NULL)
        if (rnic_qp_output(qp, pkt, now)) {
            pkt->present = ROCE_HDR_BIT(ROCE_HDR_BTH) | pkt->op->hdrs;
            rnic->counters.tx_packets++;
            return pkt;
        }
    rnic_timers_trim(&rnic->timers);
    return NULL;
}

bool rnic_timers_started(const struct rnic *rnic)
{
    return !rnic_list_empty(&rnic->armed);
}

void rnic_sent(struct rnic *rnic, rnic_time now)
{
    now = rnic_clock(rnic, now);
    while (!rnic_list_empty(&rnic->armed)) {
        struct rnic_qp *qp = RNIC_LIST_OF(rnic->armed.next, struct rnic_qp, armed);

        rnic_qp_restart_timer(qp, now);
        rnic_list_del(&qp->armed);
    }
}

bool rnic_output_ready(const struct rnic *rnic)
{
    return !rnic_list_empty(&rnic->ready) || !rnic_list_empty(&rnic->cnps) ||
           rnic_delayed_ack_deadline(&rnic->delayed_ack) <= rnic->now ||
           rnic_pacer_next(&rnic->pacer) <= rnic->now;
}

void rnic_ack_hold(struct rnic *rnic, rnic_time until)
{
    if (until <= rnic->now)
        rnic_delayed_ack_release(&rnic->delayed_ack, &rnic->ready);
    else
        rnic->delayed_ack.until = until;
}

bool rnic_ack_waits(const struct rnic *rnic)
{
    return !rnic_list_empty(&rnic->delayed_ack.qps);
}

/* Returns the earliest of these times: the next expiry of a requester's ACK or RNR timer, and the
 * next end of a delay by congestion control, delayed ACKs or CQ moderation. A responder has no
 * timer, because it acknowledges immediately unless the caller delays ACKs (R100). */
rnic_time rnic_deadline(const struct rnic *rnic)
{
    rnic_time timer = rnic_timers_next(&rnic->timers);
    rnic_time pace = rnic_pacer_next(&rnic->pacer);
    rnic_time ack = rnic_delayed_ack_deadline(&rnic->delayed_ack);
    const struct rnic_heap_node *event = rnic_heap_first(&rnic->moderated);
    rnic_time first = timer < pace ? timer : pace;

    if (event && event->at < first)
        first = event->at;
    return first < ack ? first : ack;
}

void rnic_expire(struct rnic *rnic, rnic_time now)
{
    struct rnic_timer *timer;

    now = rnic_clock(rnic, now);
    while ((timer = rnic_timers_due(&rnic->timers, now)) != NULL)
        rnic_qp_expire(RNIC_LIST_OF(timer, struct rnic_qp, timer), now);
    rnic_timers_trim(&rnic->timers);
    rnic_cq_expire(rnic, now);
    release_paced(rnic, now);
    release_acks(rnic, now);
}

/* ---- counters and events --------------------------------------------------------------------- */

void rnic_watch(struct rnic *rnic, rnic_step_fn *fn, void *user)
{
    rnic->step_fn = fn;
    rnic->step_user = user;
}

void rnic_counters_get(const struct rnic *rnic, struct rnic_counters *out)
{
#define X(name, text) out->name = rnic->counters.name;
    RNIC_DEVICE_COUNTERS(X)
#undef X
#define X(name, text) out->name = rnic->transport_counters.name;
    RNIC_TRANSPORT_COUNTERS(X)
#undef X
}

bool rnic_event_get(struct rnic *rnic, struct rnic_event *out)
{
    return rnic_event_take(&rnic->events, out);
}

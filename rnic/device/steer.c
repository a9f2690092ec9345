/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/steer.h"

#include <stdlib.h>
#include <string.h>
#include "device/device.h"
#include "transport/raw.h"
#include "wire/bytes.h"
#include "wire/pkt.h"

#define ETH_LEN  14u
#define VLAN_LEN 4u
#define IP4_LEN  20u
#define IP6_LEN  40u
#define PORTS    4u /* both ports of TCP or UDP, bytes */

enum { PROTO_TCP = 6, PROTO_UDP = 17 };

/* Number of bytes that a rule compares in each header. */
static const uint8_t header_len[] = {
    [RNIC_STEER_ETH] = ETH_LEN, [RNIC_STEER_VLAN] = 2,    [RNIC_STEER_IP4] = IP4_LEN,
    [RNIC_STEER_IP6] = IP6_LEN, [RNIC_STEER_TCP] = PORTS, [RNIC_STEER_UDP] = PORTS,
};

/* Headers of a frame. A header that the frame lacks is NULL. */
struct headers {
    const uint8_t *at[RNIC_STEER_HEADERS];
    uint8_t eth[ETH_LEN]; /* MAC addresses, and the Ethernet type after a VLAN tag */
};

static unsigned be16(const uint8_t *p)
{
    return (unsigned)roce_be_get(p, 2);
}

/* Finds the TCP or UDP header at `off`. */
static void find_ports(struct headers *out, const uint8_t *frame, size_t len, size_t off,
                       uint8_t proto)
{
    if (off + PORTS > len)
        return;
    if (proto == PROTO_TCP)
        out->at[RNIC_STEER_TCP] = frame + off;
    else if (proto == PROTO_UDP)
        out->at[RNIC_STEER_UDP] = frame + off;
}

/* Finds the headers of a frame of at least ETH_LEN bytes. Does not find a TCP or UDP header that
 * follows IPv6 extension headers, and none in IPv4 fragments after the first. */
static void find_headers(struct headers *out, const uint8_t *frame, size_t len)
{
    size_t off = ETH_LEN;
    const uint8_t *ip;
    unsigned type;

    memset(out, 0, sizeof(*out));
    memcpy(out->eth, frame, ETH_LEN);
    out->at[RNIC_STEER_ETH] = out->eth;
    if (be16(frame + off - 2) == ROCE_ETHERTYPE_VLAN && off + VLAN_LEN <= len) {
        out->at[RNIC_STEER_VLAN] = frame + off;
        off += VLAN_LEN;
        memcpy(out->eth + ETH_LEN - 2, frame + off - 2, 2);
    }
    type = be16(out->eth + ETH_LEN - 2);
    ip = frame + off;
    if (type == ROCE_ETHERTYPE_IP4 && off + IP4_LEN <= len && ip[0] >> 4 == 4) {
        out->at[RNIC_STEER_IP4] = ip;
        if ((be16(ip + 6) & 0x1FFF) == 0)
            find_ports(out, frame, len, off + (ip[0] & 15u) * 4u, ip[9]);
    } else if (type == ROCE_ETHERTYPE_IP6 && off + IP6_LEN <= len && ip[0] >> 4 == 6) {
        out->at[RNIC_STEER_IP6] = ip;
        find_ports(out, frame, len, off + IP6_LEN, ip[6]);
    }
}

static bool spec_matches(const struct rnic_steer_spec *spec, const struct headers *hdrs)
{
    const uint8_t *bytes = hdrs->at[spec->header];

    for (unsigned i = 0; bytes && i < header_len[spec->header]; i++)
        if ((bytes[i] ^ spec->value[i]) & spec->mask[i])
            return false;
    return bytes != NULL;
}

static bool flow_matches(const struct rnic_steer *steer, const struct headers *hdrs)
{
    for (unsigned i = 0; i < steer->attr.spec_cnt; i++)
        if (!spec_matches(&steer->attr.spec[i], hdrs))
            return false;
    return true;
}

/* Returns whether the frame is a RoCEv2 packet, which is for the RDMA QPs of the device. */
static bool is_roce(const struct headers *hdrs)
{
    const uint8_t *udp = hdrs->at[RNIC_STEER_UDP];

    return udp && be16(udp + 2) == ROCE_UDP_PORT;
}

/* Finds the kind and the priority of the flows that receive the frame, apart from SNIFFER flows.
 * Returns false if no such flow receives the frame. */
static bool choose(const struct rnic *rnic, const struct headers *hdrs, enum rnic_steer_kind *kind,
                   uint16_t *priority)
{
    bool multicast = hdrs->at[RNIC_STEER_ETH][0] & 1;
    bool found = false, mc = false, all = false;

    for (struct rnic_list *at = rnic->steers.next; at != &rnic->steers; at = at->next) {
        const struct rnic_steer *steer = RNIC_LIST_OF(at, struct rnic_steer, link);

        mc |= steer->attr.kind == RNIC_STEER_MC_DEFAULT;
        all |= steer->attr.kind == RNIC_STEER_ALL_DEFAULT;
        if (steer->attr.kind == RNIC_STEER_NORMAL && flow_matches(steer, hdrs) &&
            (!found || steer->attr.priority < *priority)) {
            found = true;
            *priority = steer->attr.priority;
        }
    }
    *kind = found             ? RNIC_STEER_NORMAL
            : mc && multicast ? RNIC_STEER_MC_DEFAULT
                              : RNIC_STEER_ALL_DEFAULT;
    return found || (!is_roce(hdrs) && (all || (mc && multicast)));
}

void rnic_steer_input(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now)
{
    struct headers hdrs;
    enum rnic_steer_kind kind;
    uint16_t priority = 0;
    bool chosen;

    rnic_clock(rnic, now);
    if (len < ETH_LEN)
        return;
    find_headers(&hdrs, frame, len);
    chosen = choose(rnic, &hdrs, &kind, &priority);
    rnic->steered++;
    for (struct rnic_list *at = rnic->steers.next; at != &rnic->steers; at = at->next) {
        const struct rnic_steer *steer = RNIC_LIST_OF(at, struct rnic_steer, link);
        struct rnic_qp *qp = steer->qp;
        bool takes = chosen && steer->attr.kind == kind &&
                     (kind != RNIC_STEER_NORMAL ||
                      (steer->attr.priority == priority && flow_matches(steer, &hdrs)));

        if ((!takes && steer->attr.kind != RNIC_STEER_SNIFFER) || qp->state < RNIC_QPS_RTR ||
            qp->state == RNIC_QPS_ERR || qp->steered == rnic->steered)
            continue;
        qp->steered = rnic->steered; /* if several flows of a QP choose the frame, the QP
                                      * receives only one copy */
        rnic_raw_input(&qp->resp, frame, (uint32_t)len);
        rnic_qp_settle(qp);
    }
}

int rnic_steer_new(struct rnic_qp *qp, const struct rnic_steer_attr *attr, struct rnic_steer **out)
{
    struct rnic_steer *steer;

    if (qp->type != RNIC_QPT_RAW_PACKET || attr->spec_cnt > RNIC_STEER_SPECS ||
        (unsigned)attr->kind > RNIC_STEER_SNIFFER ||
        (attr->kind != RNIC_STEER_NORMAL && attr->spec_cnt))
        return RNIC_ERR_INVALID;
    for (unsigned i = 0; i < attr->spec_cnt; i++)
        if ((unsigned)attr->spec[i].header >= RNIC_STEER_HEADERS)
            return RNIC_ERR_INVALID;
    steer = calloc(1, sizeof(*steer));
    if (!steer)
        return RNIC_ERR_NOMEM;
    steer->qp = qp;
    steer->attr = *attr;
    rnic_list_add(&qp->pd->rnic->steers, &steer->link);
    qp->steer_cnt++;
    *out = steer;
    return RNIC_OK;
}

void rnic_steer_del(struct rnic_steer *steer)
{
    if (!steer)
        return;
    rnic_list_del(&steer->link);
    steer->qp->steer_cnt--;
    free(steer);
}

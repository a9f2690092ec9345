/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of single CM messages. cm_track.c compares the messages of one exchange. */
#include "flow/checks/check_cm.h"

#include <string.h>
#include "flow/base/report.h"
#include "wire/gid.h"

#define REJ_GID_OR_LID_13 13 /* REJ reasons that refer to LIDs (R227) */
#define REJ_GID_OR_LID_19 19
#define APR_STATUS_LID    7
#define LID_NONE          0xFFFF

static void check_lid(struct roce_ctx *ctx, const char *field, uint16_t lid)
{
    if (lid != 0 && lid != LID_NONE && !roce_pkt_has(ctx->pkt, ROCE_HDR_LRH))
        REPORT(ctx, CM_LID, field, 0, lid);
}

static uint32_t low_word(const uint8_t addr[16])
{
    return (uint32_t)roce_be_get(addr + 12, 4);
}

static void check_rdmaip(struct roce_ctx *ctx, const struct roce_cm_msg *msg)
{
    struct roce_cm_rdmaip ip;
    int rc = roce_cm_rdmaip_read(&ip, msg);
    bool v4 = roce_pkt_has(ctx->pkt, ROCE_HDR_IP4);

    if (rc == ROCE_ERR_MALFORMED) {
        if (ip.majv == 0 && ip.minv == 0)
            REPORT(ctx, CM_IP_VERSION, "rdmaip.ipv", v4 ? 4 : 6, ip.ipv);
        else
            REPORT(ctx, CM_IP_HEADER_VERSION, ip.majv ? "rdmaip.majv" : "rdmaip.minv", 0,
                   ip.majv ? ip.majv : ip.minv);
        return;
    }
    if (rc != 0)
        return;
    if (!v4 && !roce_pkt_has(ctx->pkt, ROCE_HDR_IP6)) {
        /* A packet of RoCEv1 or InfiniBand has no IP header. Its GIDs may contain an IPv4 address,
         * or only a MAC address or GUID, so addresses are compared only if all are IPv4 addresses.
         */
        if (ip.ipv != 4 || !roce_gid_is_ip4(ctx->src) || !roce_gid_is_ip4(ctx->dst))
            return;
    } else if (ip.ipv != (v4 ? 4 : 6)) {
        REPORT(ctx, CM_IP_VERSION, "rdmaip.ipv", v4 ? 4 : 6, ip.ipv);
        return;
    }
    if (low_word(ip.src) != low_word(ctx->src))
        REPORT(ctx, CM_IP_HEADER, "rdmaip.src", low_word(ctx->src), low_word(ip.src),
               .value = ROCE_VALUE_HEX);
    else if (low_word(ip.dst) != low_word(ctx->dst) && !roce_gid_is_multicast(ip.dst))
        REPORT(ctx, CM_IP_HEADER, "rdmaip.dst", low_word(ctx->dst), low_word(ip.dst),
               .value = ROCE_VALUE_HEX);
}

void roce_check_cm(struct roce_ctx *ctx, const struct roce_cm_msg *msg)
{
    switch (msg->kind) {
    case ROCE_CM_REQ:
        check_lid(ctx, "req.primary_local_lid", msg->req.primary_local_lid);
        check_lid(ctx, "req.primary_remote_lid", msg->req.primary_remote_lid);
        if (msg->req.ext_transport && msg->req.transport != ROCE_CM_TRANSPORT_EXTENDED)
            REPORT(ctx, CM_XRC, "req.transport", ROCE_CM_TRANSPORT_EXTENDED, msg->req.transport);
        check_rdmaip(ctx, msg);
        break;
    case ROCE_CM_SIDR_REQ: check_rdmaip(ctx, msg); break;
    case ROCE_CM_SIDR_REP:
        if (msg->sidr_rep.status)
            REPORT(ctx, CM_SIDR_STATUS, "sidr_rep.status", 0, msg->sidr_rep.status);
        break;
    case ROCE_CM_REJ:
        if (msg->rej.reason == REJ_GID_OR_LID_13 || msg->rej.reason == REJ_GID_OR_LID_19)
            REPORT(ctx, CM_CODES, "rej.reason", 0, msg->rej.reason, .rel = ROCE_REL_NE);
        if (msg->rej.message > 2)
            REPORT(ctx, CM_REJ_FORM, "rej.message", 2, msg->rej.message, .rel = ROCE_REL_AT_MOST);
        break;
    case ROCE_CM_LAP:
        check_lid(ctx, "lap.alternate_local_lid", msg->lap.alternate_local_lid);
        break;
    case ROCE_CM_APR:
        if (msg->apr.status == APR_STATUS_LID)
            REPORT(ctx, CM_CODES, "apr.status", 0, msg->apr.status, .rel = ROCE_REL_NE);
        break;
    default: break;
    }
}

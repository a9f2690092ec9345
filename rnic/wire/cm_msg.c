/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/cm_msg.h"

#include <assert.h>
#include "wire/pkt.h"

/* clang-format off */

/* Checks that each message, with the MAD header, has exactly the length of a MAD (tables 106 and
 * following). */
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    _Static_assert(ROCE_CM_##ID >= ROCE_CM_MSG_CNT || ROCE_MAD_LEN + (len) == ROCE_MAD_SIZE, #id);
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/cm_fields.def"

#define HDR_BEGIN(id, ID, len, shrt, title, source) static const struct roce_field id##_fields[] = {
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)                                \
    {#name, label, byte, bit, width, ROCE_FMT_##fmt, ROCE_VALS_##vals},
#define BYTES(hdr, name, byte, len, fmt, label)                                                    \
    {#name, label, byte, 0, (len) * 8, ROCE_FMT_##fmt, ROCE_VALS_NONE},
#define HDR_END(id) };
#include "wire/cm_fields.def"

static const struct roce_hdr_info infos[ROCE_CM_CNT] = {
#define HDR_BEGIN(id, ID, len, shrt, title, source)                                                \
    [ROCE_CM_##ID] = {"cm." #id, shrt, title, source, len,                                         \
                      sizeof(id##_fields) / sizeof(*id##_fields), id##_fields},
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/cm_fields.def"
};
/* clang-format on */

/* Calls the macro X for each message; used for the cases of the switches below. The RDMA-IP header
 * is not a message. */
#define MESSAGES(X)                                                                                \
    X(REQ, req)                                                                                    \
    X(MRA, mra)                                                                                    \
    X(REJ, rej)                                                                                    \
    X(REP, rep)                                                                                    \
    X(RTU, rtu)                                                                                    \
    X(DREQ, dreq)                                                                                  \
    X(DREP, drep)                                                                                  \
    X(SIDR_REQ, sidr_req)                                                                          \
    X(SIDR_REP, sidr_rep)                                                                          \
    X(LAP, lap)                                                                                    \
    X(APR, apr)

const struct roce_hdr_info *roce_cm_info(enum roce_cm cm)
{
    assert(cm < ROCE_CM_CNT);
    return &infos[cm];
}

/* Returns the code of the time delay + 2 * lifetime, rounded to a power of two. A code is the
 * exponent of the time, so packet_life_time + 1 is the code of 2 * lifetime. The result is the
 * greater of this code and ack_delay, or one more if the two differ by at most 1 (as in Linux,
 * core/cm.c, cm_ack_timeout). */
uint8_t roce_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time)
{
    unsigned both = packet_life_time + 1u;
    unsigned code;

    if (both >= ack_delay)
        code = both + (ack_delay >= both - 1);
    else
        code = ack_delay + (both >= ack_delay - 1u);
    return (uint8_t)(code < 31 ? code : 31);
}

uint8_t roce_cm_active_timeout(const struct roce_cm_req *req, const struct roce_cm_rep *rep)
{
    return req->primary_ack_timeout
               ? roce_cm_ack_timeout(rep->target_ack_delay, req->primary_ack_timeout - 1)
               : 0;
}

const char *roce_cm_name(enum roce_cm kind)
{
    switch (kind) {
#define X(ID, id)                                                                                  \
    case ROCE_CM_##ID: return #ID;
        MESSAGES(X)
#undef X
    default: assert(!"every kind of a struct roce_cm_msg has a case");
    }
    return "unknown";
}

static bool is_message(const struct roce_mad *mad)
{
    return mad->mgmt_class == ROCE_MAD_CLASS_CM && mad->method == ROCE_MAD_SEND &&
           mad->attr_id >= ROCE_CM_ATTR_FIRST &&
           mad->attr_id < ROCE_CM_ATTR_FIRST + ROCE_CM_MSG_CNT;
}

int roce_cm_msg_parse(struct roce_cm_msg *msg, const uint8_t *p, size_t cap_len, size_t wire_len)
{
    int error;

    memset(msg, 0, sizeof(*msg));
    error = roce_mad_read(&msg->mad, p, cap_len, wire_len);
    if (error)
        return error;
    if (msg->mad.mgmt_class == ROCE_MAD_CLASS_CM && msg->mad.class_version != ROCE_MAD_CM_VER)
        return ROCE_ERR_MALFORMED;
    if (!is_message(&msg->mad))
        return ROCE_ERR_NOT_ROCE;
    msg->kind = (enum roce_cm)(msg->mad.attr_id - ROCE_CM_ATTR_FIRST);
    if (cap_len < ROCE_MAD_SIZE)
        return ROCE_ERR_CUT;
    p += ROCE_MAD_LEN;
    switch (msg->kind) {
#define X(ID, id)                                                                                  \
    case ROCE_CM_##ID: roce_cm_##id##_parse(p, &msg->id); break;
        MESSAGES(X)
#undef X
    default: assert(!"is_message() accepts only kinds that have a case");
    }
    return ROCE_OK;
}

int roce_cm_msg_of_pkt(struct roce_cm_msg *msg, const struct roce_pkt *pkt)
{
    memset(msg, 0, sizeof(*msg));
    if (!pkt->op || pkt->bth.opcode != ROCE_OP_UD_SEND_ONLY || pkt->bth.dest_qp != ROCE_QP_GSI ||
        pkt->payload_off == 0)
        return ROCE_ERR_NOT_ROCE;
    return roce_cm_msg_parse(msg, pkt->payload, pkt->payload_cap_len, pkt->payload_len);
}

void roce_cm_msg_init(struct roce_cm_msg *msg, enum roce_cm kind, uint64_t tid)
{
    memset(msg, 0, sizeof(*msg));
    msg->kind = kind;
    msg->mad.base_version = ROCE_MAD_BASE;
    msg->mad.mgmt_class = ROCE_MAD_CLASS_CM;
    msg->mad.class_version = ROCE_MAD_CM_VER;
    msg->mad.method = ROCE_MAD_SEND;
    msg->mad.attr_id = (uint16_t)(ROCE_CM_ATTR_FIRST + kind);
    msg->mad.tid = tid;
}

int roce_cm_msg_build(const struct roce_cm_msg *msg, uint8_t *buf, size_t cap)
{
    if (cap < ROCE_MAD_SIZE)
        return ROCE_ERR_NOSPACE;
    if ((unsigned)msg->kind >= ROCE_CM_MSG_CNT ||
        msg->mad.attr_id != ROCE_CM_ATTR_FIRST + (unsigned)msg->kind)
        return ROCE_ERR_INVALID;
    roce_mad_build(&msg->mad, buf);
    buf += ROCE_MAD_LEN;
    switch (msg->kind) {
#define X(ID, id)                                                                                  \
    case ROCE_CM_##ID: roce_cm_##id##_build(&msg->id, buf); break;
        MESSAGES(X)
#undef X
    default: break;
    }
    return ROCE_MAD_SIZE;
}

const uint8_t *roce_cm_private_data(const struct roce_cm_msg *msg, size_t *len)
{
    switch (msg->kind) {
#define X(ID, id)                                                                                  \
    case ROCE_CM_##ID: *len = sizeof(msg->id.private_data); return msg->id.private_data;
        MESSAGES(X)
#undef X
    default: break;
    }
    *len = 0;
    return NULL;
}

/* Returns the address of the RDMA-IP header in `msg`, or NULL if messages of this kind never have
 * one. Sets *sid to the service id. The message contains the header only if roce_cm_sid_is_ip()
 * accepts this id. */
static const uint8_t *rdmaip_place(const struct roce_cm_msg *msg, uint64_t *sid)
{
    switch (msg->kind) {
    case ROCE_CM_REQ: *sid = msg->req.service_id; return msg->req.private_data;
    case ROCE_CM_SIDR_REQ: *sid = msg->sidr_req.service_id; return msg->sidr_req.private_data;
    default: return NULL;
    }
}

int roce_cm_rdmaip_read(struct roce_cm_rdmaip *out, const struct roce_cm_msg *msg)
{
    uint64_t sid;
    const uint8_t *p = rdmaip_place(msg, &sid);

    memset(out, 0, sizeof(*out));
    if (!p || !roce_cm_sid_is_ip(sid))
        return ROCE_ERR_NOT_ROCE;
    roce_cm_rdmaip_parse(p, out);
    if (out->majv != 0 || out->minv != 0 || (out->ipv != 4 && out->ipv != 6))
        return ROCE_ERR_MALFORMED;
    return ROCE_OK;
}

int roce_cm_rdmaip_write(const struct roce_cm_rdmaip *in, struct roce_cm_msg *msg)
{
    switch (msg->kind) {
    case ROCE_CM_REQ: roce_cm_rdmaip_build(in, msg->req.private_data); return ROCE_OK;
    case ROCE_CM_SIDR_REQ: roce_cm_rdmaip_build(in, msg->sidr_req.private_data); return ROCE_OK;
    default: return ROCE_ERR_INVALID;
    }
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM messages: MADs between two communication managers on QP1, which set up, change and end
 * connections (IBTA vol. 1 ch. 12), and the RDMA-IP CM header in their private data (Annex A11).
 * cm_fields.def lists the fields. For each message `x`, this file declares
 *
 *   enum roce_cm            ROCE_CM_X
 *   struct roce_cm_x        its fields in host order, private data as bytes
 *   ROCE_CM_X_LEN           its length in bytes, after the MAD header
 *   roce_cm_x_parse(p, out), roce_cm_x_build(in, p)    as hdr.h describes for any header
 *
 * struct roce_cm_msg is a whole MAD: its header and one of the messages.
 */
#ifndef ROCE_CM_MSG_H
#define ROCE_CM_MSG_H

#include <stdbool.h>
#include "wire/mad.h"

struct roce_pkt;

/* CM messages in the order of their attribute ids. The last value is not a message, but the RDMA-IP
 * header in private data. */
enum roce_cm {
#define HDR_BEGIN(id, ID, len, shrt, title, source) ROCE_CM_##ID,
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/cm_fields.def"
    ROCE_CM_CNT
};

#define ROCE_CM_MSG_CNT ((unsigned)ROCE_CM_APR + 1)
/* Attribute id of a REQ; the ids of the other messages follow without a gap (R222). */
#define ROCE_CM_ATTR_FIRST 0x10u

#define HDR_TABLE        "wire/cm_fields.def"
#define HDR_LEN(ID)      ROCE_CM_##ID##_LEN
#define HDR_NAME(id)     roce_cm_##id
#define HDR_FN(id, verb) roce_cm_##id##_##verb
#include "wire/hdr_gen.h"

/* REJ reasons that this project sends or compares. codes.c has the names of all reasons
 * (ROCE_VALS_CM_REJ_REASON). */
enum roce_cm_rej_reason {
    ROCE_CM_REJ_NO_QP = 1,
    ROCE_CM_REJ_NO_RESOURCES = 3,
    ROCE_CM_REJ_TIMEOUT = 4,
    ROCE_CM_REJ_UNSUPPORTED = 5,
    ROCE_CM_REJ_INVALID_COMM_ID = 6,
    ROCE_CM_REJ_INVALID_SERVICE_ID = 8,
    ROCE_CM_REJ_INVALID_TRANSPORT = 9,
    ROCE_CM_REJ_STALE = 10,
    ROCE_CM_REJ_INVALID_GID = 12,
    ROCE_CM_REJ_INVALID_MTU = 26,
    ROCE_CM_REJ_RESPONDER_RESOURCES = 27,
    ROCE_CM_REJ_CONSUMER = 28, /* the application on the passive side rejected the connection; the
                                * private data is from the application */
    ROCE_CM_REJ_DUPLICATE_COMM_ID = 30,
    ROCE_CM_REJ_CLASS_VERSION = 31,
};

/* Transport service type of a REQ. For EXTENDED, the field ext_transport contains the type (Annex
 * A14). */
enum roce_cm_transport {
    ROCE_CM_TRANSPORT_RC = 0,
    ROCE_CM_TRANSPORT_UC = 1,
    ROCE_CM_TRANSPORT_RD = 2,
    ROCE_CM_TRANSPORT_EXTENDED = 3,
};
#define ROCE_CM_EXT_TRANSPORT_XRC 1u

/* Upper 32 bits of the transaction id of a DREQ that replaces the DREQ of a killed process: "gone"
 * in ASCII. The peer process on the same machine sends this DREQ to its own port
 * (rnic/ucma/worker.c). The receiver only copies the transaction id to its DREP. */
#define ROCE_CM_TID_GONE 0x676F6E65u

/* APR status "alternate paths not supported", always sent because RoCE has no alternate paths
 * (R197). codes.c has the names of all statuses (ROCE_VALS_CM_APR_STATUS). */
#define ROCE_CM_APR_UNSUPPORTED 2u

/* A CM MAD; `kind` selects the valid member of the union. */
struct roce_cm_msg {
    struct roce_mad mad;
    enum roce_cm kind; /* kind of the message, < ROCE_CM_MSG_CNT */
    union {
#define HDR_BEGIN(id, ID, len, shrt, title, source) struct roce_cm_##id id;
#define FIELD(hdr, name, byte, bit, width, ctype, fmt, vals, label)
#define BYTES(hdr, name, byte, len, fmt, label)
#define HDR_END(id)
#include "wire/cm_fields.def"
    };
};

/* Returns the description of a message or of the RDMA-IP header; `cm` must be < ROCE_CM_CNT. The
 * offsets of fields count from the end of the MAD header; for the RDMA-IP header, from the start of
 * the private data. */
const struct roce_hdr_info *roce_cm_info(enum roce_cm cm);

/*
 * Parses the CM message in the payload of a UD packet to QP1, of which `cap_len` bytes were
 * captured. On the wire the payload had `wire_len` >= cap_len bytes. Returns
 *
 * 0                   if *msg is complete
 * ROCE_ERR_NOT_ROCE   for a MAD of another class, method or attribute
 * ROCE_ERR_CUT        if the capture lacks some of the 256 bytes; msg->mad is set if its 24 bytes
 *                     were captured
 * ROCE_ERR_MALFORMED  if the length is not 256 bytes, the base version is not 1, or the class
 *                     version is not 2: a receiver drops the MAD (R246); msg->mad is set if its 24
 *                     bytes were captured
 *
 * In every case all members of *msg are set; members that were not parsed are zero.
 */
int roce_cm_msg_parse(struct roce_cm_msg *msg, const uint8_t *p, size_t cap_len, size_t wire_len);

/* Parses the CM message of a parsed packet. Returns ROCE_ERR_NOT_ROCE if the packet is not a UD
 * SEND Only to QP1, or if its payload was not found. Q_Key and ICRC are not checked. */
int roce_cm_msg_of_pkt(struct roce_cm_msg *msg, const struct roce_pkt *pkt);

/* Initializes a message: all fields are zero, except `tid` and the constant fields of the MAD
 * header (R221, R222). */
void roce_cm_msg_init(struct roce_cm_msg *msg, enum roce_cm kind, uint64_t tid);

/*
 * Writes the 256 bytes of `msg`. The MAD header is written from msg->mad without checks.
 *
 * Returns ROCE_MAD_SIZE, ROCE_ERR_NOSPACE if `cap` is below that, or ROCE_ERR_INVALID if `kind` is
 * not a message or contradicts mad.attr_id.
 */
int roce_cm_msg_build(const struct roce_cm_msg *msg, uint8_t *buf, size_t cap);

/* Returns whether a REQ requests XRC. XRC is the only extended transport (Annex A14; R245), so the
 * field ext_transport is not checked. */
static inline bool roce_cm_req_is_xrc(const struct roce_cm_req *req)
{
    return req->transport == ROCE_CM_TRANSPORT_EXTENDED;
}

/* Returns the QPN in a REP, or 0. For an XRC target QP, local_qpn is 0, and the QPN is in the field
 * of the EE context, local_eecn (Annex A14; R245). */
static inline uint32_t roce_cm_rep_qpn(const struct roce_cm_rep *rep)
{
    return rep->local_qpn ? rep->local_qpn : rep->local_eecn;
}

/* Returns the local ACK timeout, as a code, from the ACK delay of the responder and the packet
 * lifetime, also codes (R239). */
uint8_t roce_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time);

/* Returns the local ACK timeout of the active side's QP, as a code; 0 means no timeout. The local
 * ACK timeout in the REQ is for the passive side's QP. The active side computes the timeout of its
 * own QP from the packet lifetime and the ACK delay in the REP (R239). */
uint8_t roce_cm_active_timeout(const struct roce_cm_req *req, const struct roce_cm_rep *rep);

/* Returns the name of a message, for example "REQ" or "SIDR_REP"; `kind` must be < ROCE_CM_MSG_CNT.
 */
const char *roce_cm_name(enum roce_cm kind);

/* Returns the private data of any message; *len is its size in bytes. */
const uint8_t *roce_cm_private_data(const struct roce_cm_msg *msg, size_t *len);

/* ---- RDMA-IP CM (Annex A11) ------------------------------------------------------------------ */

/* Port spaces of the RDMA-IP CM. The low byte is the IP protocol number of the port (R241). */
enum roce_cm_port_space {
    ROCE_CM_PS_TCP = 0x0106,
    ROCE_CM_PS_UDP = 0x0111,
    ROCE_CM_PS_IB = 0x013F,
};

/* Returns the service id of a port: the prefix 0x00000000_01, then one byte of protocol, then two
 * bytes of port (R241). */
static inline uint64_t roce_cm_sid(enum roce_cm_port_space space, uint16_t port)
{
    return (uint64_t)space << 16 | port;
}

/* Returns whether `sid` is a service id of the RDMA-IP CM. roce_cm_sid_space() and
 * roce_cm_sid_port() are valid only for such an id. */
static inline bool roce_cm_sid_is_ip(uint64_t sid)
{
    return sid >> 24 == 1;
}

/* Returns the port space of a service id, for example ROCE_CM_PS_TCP. The low byte is the IP
 * protocol number. It may be a number that enum roce_cm_port_space does not have. */
static inline uint16_t roce_cm_sid_space(uint64_t sid)
{
    return (uint16_t)(sid >> 16);
}

static inline uint16_t roce_cm_sid_port(uint64_t sid)
{
    return (uint16_t)sid;
}

/*
 * Parses the RDMA-IP header of a REQ or SIDR_REQ. The user's private data follows the header, after
 * ROCE_CM_RDMAIP_LEN bytes of private_data. Returns
 *
 * 0                   and sets *out
 * ROCE_ERR_NOT_ROCE   for another message or a service id without the RDMA-IP prefix; *out is zero
 * ROCE_ERR_MALFORMED  if the version is not 0 or the IP version is neither 4 nor 6 (R243); *out is
 *                     the parsed header
 */
int roce_cm_rdmaip_read(struct roce_cm_rdmaip *out, const struct roce_cm_msg *msg);

/* Writes the RDMA-IP header to the first bytes of the private data of a REQ or SIDR_REQ. Returns 0,
 * or ROCE_ERR_INVALID for any other message. */
int roce_cm_rdmaip_write(const struct roce_cm_rdmaip *in, struct roce_cm_msg *msg);

#endif

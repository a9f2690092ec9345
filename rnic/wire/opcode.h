/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Opcodes: meaning of each of the 256 values of BTH.opcode. The rows are in opcodes.def. Only this
 * table defines which headers follow a BTH, and their offsets.
 *
 * Opcode, service, kind and header set are different types, so that other code does not need to
 * mask bits of an opcode.
 */
#ifndef ROCE_OPCODE_H
#define ROCE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/hdr.h"

/* Transport service: the top three bits of the opcode (IBTA ch. 9; the CNP of Annex A17 has the
 * value 100 in binary). */
enum roce_svc {
    ROCE_SVC_RC = 0,
    ROCE_SVC_UC = 1,
    ROCE_SVC_RD = 2,
    ROCE_SVC_UD = 3,
    ROCE_SVC_CNP = 4,
    ROCE_SVC_XRC = 5,
    ROCE_SVC_MANUF6 = 6, /* opcodes 0xC0..0xDF, manufacturer specific */
    ROCE_SVC_MANUF7 = 7, /* opcodes 0xE0..0xFF, manufacturer specific */
};

enum roce_kind {
    ROCE_KIND_RESERVED,
    ROCE_KIND_MANUFACTURER,
    ROCE_KIND_SEND,
    ROCE_KIND_WRITE,
    ROCE_KIND_READ,
    ROCE_KIND_READ_RESP,
    ROCE_KIND_ACK,
    ROCE_KIND_ATOMIC_ACK,
    ROCE_KIND_CMP_SWAP,
    ROCE_KIND_FETCH_ADD,
    ROCE_KIND_RESYNC,
    ROCE_KIND_FLUSH,
    ROCE_KIND_ATOMIC_WRITE,
    ROCE_KIND_CNP,
};

/* Position of a packet in its message, as two bits. Bit 0: the packet begins the message; bit 1:
 * the packet ends it. */
enum roce_pos {
    ROCE_POS_MIDDLE = 0,
    ROCE_POS_FIRST = 1,
    ROCE_POS_LAST = 2,
    ROCE_POS_ONLY = ROCE_POS_FIRST | ROCE_POS_LAST,
};

/* Allowed payload after the headers. */
enum roce_payload {
    ROCE_PAYLOAD_NONE,
    ROCE_PAYLOAD_MTU,  /* exactly one path MTU: First and Middle packets */
    ROCE_PAYLOAD_TAIL, /* 1 byte to one path MTU: Last packets */
    ROCE_PAYLOAD_ANY,  /* 0 bytes to one path MTU: Only packets */
    ROCE_PAYLOAD_8,    /* exactly 8 bytes: ATOMIC WRITE (Annex A19) */
    ROCE_PAYLOAD_FREE, /* any length: the specification defines none for reserved and manufacturer
                        * opcodes */
};

#define ROCE_OPCODE_HDRS 4 /* maximum number of headers after a BTH */

struct roce_opcode {
    uint8_t value;
    enum roce_svc svc;
    enum roce_kind kind;
    enum roce_pos pos;
    enum roce_payload payload;
    uint8_t hdr_cnt;                   /* number of headers after the BTH */
    uint8_t hdr[ROCE_OPCODE_HDRS];     /* headers after the BTH, enum roce_hdr, in wire order */
    uint8_t hdr_off[ROCE_OPCODE_HDRS]; /* offset of each header from the start of the BTH */
    uint8_t len;                       /* length of the BTH and the headers after it, bytes */
    roce_hdr_set hdrs;                 /* set of the headers after the BTH */
    const char *name; /* name, for example "RC WRITE First"; "reserved" for an undefined opcode */
};

/* Constants ROCE_OP_RC_SEND_FIRST and so on, for code that builds packets. */
enum {
#define OP(value, svc, name, kind, pos, payload, h1, h2, h3, h4, text)                             \
    ROCE_OP_##svc##_##name = (value),
#include "wire/opcodes.def"
};

/* Descriptions of all opcode values. Other code calls roce_opcode(). */
extern const struct roce_opcode roce_opcodes[256];

/* Returns the static description of an opcode value; never NULL. The function is inline, because
 * parsing a packet calls it several times. */
static inline const struct roce_opcode *roce_opcode(uint8_t value)
{
    return &roce_opcodes[value];
}

/* Returns the opcode of service `svc` with the low 5 bits of `rc_opcode`, an opcode of RC. The
 * result is a reserved opcode if the service does not define one with these bits. */
static inline const struct roce_opcode *roce_opcode_in(uint8_t rc_opcode, enum roce_svc svc)
{
    return roce_opcode((uint8_t)((unsigned)svc << 5 | rc_opcode));
}

/* Returns the name of a service, for example "RC" or "UC". */
const char *roce_svc_name(enum roce_svc svc);

/* Returns the name of a kind, for example "SEND" or "READ response". */
const char *roce_kind_name(enum roce_kind kind);

static inline bool roce_opcode_has(const struct roce_opcode *op, enum roce_hdr hdr)
{
    return (op->hdrs & ROCE_HDR_BIT(hdr)) != 0;
}

/* Returns whether a requester sends the opcode (SEND, WRITE, READ, atomics, FLUSH, RESYNC, ATOMIC
 * WRITE). */
static inline bool roce_opcode_is_request(const struct roce_opcode *op)
{
    switch (op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE:
    case ROCE_KIND_READ:
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_RESYNC:
    case ROCE_KIND_FLUSH:
    case ROCE_KIND_ATOMIC_WRITE: return true;
    default: return false;
    }
}

/* Returns whether a responder sends the opcode: ACK, Atomic ACK or READ response. */
static inline bool roce_opcode_is_response(const struct roce_opcode *op)
{
    return op->kind == ROCE_KIND_ACK || op->kind == ROCE_KIND_ATOMIC_ACK ||
           op->kind == ROCE_KIND_READ_RESP;
}

static inline bool roce_opcode_is_atomic(const struct roce_opcode *op)
{
    return op->kind == ROCE_KIND_CMP_SWAP || op->kind == ROCE_KIND_FETCH_ADD;
}

/* Returns whether the response to a request is a packet other than an ACK: READ, atomics, ATOMIC
 * WRITE, FLUSH. */
static inline bool roce_opcode_is_answered(const struct roce_opcode *op)
{
    switch (op->kind) {
    case ROCE_KIND_READ:
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
    case ROCE_KIND_ATOMIC_WRITE:
    case ROCE_KIND_FLUSH: return true;
    default: return false;
    }
}

/* Returns whether the packet begins a message (First or Only). roce_opcode_ends() returns whether
 * the packet ends a message (Last or Only). */
static inline bool roce_opcode_starts(const struct roce_opcode *op)
{
    return (op->pos & ROCE_POS_FIRST) != 0;
}

static inline bool roce_opcode_ends(const struct roce_opcode *op)
{
    return (op->pos & ROCE_POS_LAST) != 0;
}

/* Returns whether the opcode allows `len` bytes of payload, as far as this does not depend on the
 * path MTU. */
static inline bool roce_opcode_allows_payload(const struct roce_opcode *op, size_t len)
{
    switch (op->payload) {
    case ROCE_PAYLOAD_NONE: return len == 0;
    case ROCE_PAYLOAD_8: return len == 8;
    default: return true;
    }
}

/* Returns whether a packet with this opcode needs a receive WQE (R093, R094): any SEND packet, or a
 * WRITE packet with immediate data. */
static inline bool roce_opcode_uses_rq(const struct roce_opcode *op)
{
    return op->kind == ROCE_KIND_SEND ||
           (op->kind == ROCE_KIND_WRITE && roce_opcode_has(op, ROCE_HDR_IMMDT));
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Codes: decodes the values that packets contain in encoded form.
 *
 * IBTA vol. 1 ch. 9 has the tables of RNR NAK timers, end-to-end credits and AETH syndromes. The
 * tables here were compared with Linux rdmavt (ib_rvt_rnr_table, credit_table). The table of rxe
 * has 61.41 ms for RNR code 25, which is a typing error for 61.44 ms. C9-140 defines the local ACK
 * timeout.
 */
#ifndef ROCE_CODES_H
#define ROCE_CODES_H

#include <stddef.h>
#include <stdint.h>
#include "wire/hdr.h"

#define ROCE_RNR_CODES         32u /* number of RNR timer codes */
#define ROCE_CREDIT_CODES      32u /* number of credit codes */
#define ROCE_CREDIT_NONE       31u /* value of the credit field that means "credits not valid" */
#define ROCE_CREDITS_UNLIMITED UINT32_MAX /* number of credits for ROCE_CREDIT_NONE: no limit */
#define ROCE_NEVER_NS          UINT64_MAX /* value of a time that means "never" or "unknown", ns */

/* Returns the wait for RNR NAK timer code 0..31, ns. Code 0 is the longest: 655.36 ms. */
uint64_t roce_rnr_ns(uint8_t code);

/* Returns the number of credits of code 0..31; ROCE_CREDITS_UNLIMITED for 31. */
uint32_t roce_credits(uint8_t code);

/* Returns the largest credit code that grants at most `free_wqes` credits; never 31, which means
 * that the credits are not valid. */
uint8_t roce_credit_code(uint32_t free_wqes);

/* Kind of an AETH syndrome: bits 6:5, if bit 7 is 0. Otherwise the syndrome is reserved. */
enum roce_syndrome_kind {
    ROCE_SYN_ACK,      /* ACK; low 5 bits: credit code */
    ROCE_SYN_RNR,      /* RNR NAK; low 5 bits: timer code */
    ROCE_SYN_NAK,      /* NAK; low 5 bits: enum roce_nak */
    ROCE_SYN_RESERVED, /* reserved: bit 7 is 1, or bits 6:5 are 10, or the code of a NAK is from 5
                        * to 31 */
};

#define ROCE_SYNDROME_ACK 0x00u /* bits 5 and 6 of the syndrome of an ACK */
#define ROCE_SYNDROME_RNR 0x20u /* bits 5 and 6 of the syndrome of an RNR NAK */
#define ROCE_SYNDROME_NAK 0x60u /* bits 5 and 6 of the syndrome of a NAK */

enum roce_nak {
    ROCE_NAK_PSN_SEQ = 0,        /* syndrome 0x60 */
    ROCE_NAK_INVALID_REQ = 1,    /* syndrome 0x61 */
    ROCE_NAK_REMOTE_ACCESS = 2,  /* syndrome 0x62 */
    ROCE_NAK_REMOTE_OP = 3,      /* syndrome 0x63 */
    ROCE_NAK_INVALID_RD_REQ = 4, /* syndrome 0x64, reliable datagram only */
};

/* Returns the low 5 bits of a syndrome: credit, timer or NAK code. */
static inline uint8_t roce_syndrome_code(uint8_t syndrome)
{
    return syndrome & 0x1F;
}

static inline enum roce_syndrome_kind roce_syndrome_kind(uint8_t syndrome)
{
    switch (syndrome >> 5) {
    case ROCE_SYNDROME_ACK >> 5: return ROCE_SYN_ACK;
    case ROCE_SYNDROME_RNR >> 5: return ROCE_SYN_RNR;
    case ROCE_SYNDROME_NAK >> 5:
        return roce_syndrome_code(syndrome) <= ROCE_NAK_INVALID_RD_REQ ? ROCE_SYN_NAK
                                                                       : ROCE_SYN_RESERVED;
    default: return ROCE_SYN_RESERVED;
    }
}

/* Writes the meaning of a syndrome to `buf`, such as "ACK, 12 credits" or "RNR NAK, 0.64 ms".
 * Returns `buf`. */
const char *roce_syndrome_text(uint8_t syndrome, char *buf, size_t cap);

/* Returns the path MTU in bytes (256..4096) of code 1..5; 0 for any other code. */
uint32_t roce_mtu_bytes(uint8_t code);

/* Returns the path MTU code of 256, 512, 1024, 2048 or 4096 bytes; 0 for any other number. */
uint8_t roce_mtu_code(uint32_t bytes);

/* Returns the local ACK timeout of code 0..31, ns: 4.096 us * 2^code. Code 0 means no timeout:
 * returns ROCE_NEVER_NS. */
uint64_t roce_ack_timeout_ns(uint8_t code);

/* Returns the name of a value, or NULL if the value has no name. `vals` must be < ROCE_VALS_CNT.
 * The string is static, except for ROCE_VALS_SYNDROME, _ACK_TIMEOUT, _CM_TIMEOUT and _MTU, whose
 * text is written to `buf`. */
const char *roce_vals_name(enum roce_vals vals, uint64_t value, char *buf, size_t cap);

#endif

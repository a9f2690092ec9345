/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Alteration: one packet of a capture changed in one obligation, so that somebody who sends that is
 * wrong: the answers of a responder, and what a requester sends again.
 */
#ifndef TESTS_REPLAY_ENGINE_ALTERATION_H
#define TESTS_REPLAY_ENGINE_ALTERATION_H

#include <stdint.h>
#include "replay/capture.h"

/* clang-format off */
#define ALTERATIONS(X)                                                \
    X(SYNDROME_SEQ,    "syndrome to NAK 0x60")                        \
    X(SYNDROME_ACCESS, "syndrome to NAK 0x62")                        \
    X(SYNDROME_ACK,    "syndrome to ACK")    /* a NAK that is missing */ \
    X(MSN_UP,          "MSN + 1")            /* an execution too many */ \
    X(MSN_FAR,         "MSN + 4096")                                  \
    X(PSN_UP,          "PSN + 1")                                     \
    X(PSN_DOWN,        "PSN - 1")                                     \
    X(PAYLOAD,         "payload byte")                                \
    X(ORIGINAL,        "atomic original value")                       \
    X(OPCODE,          "opcode")                                      \
    X(DEST_QP,         "DestQP")                                      \
    X(PKEY,            "P_Key")                                       \
    X(MSN_BAD_ICRC,    "MSN + 1, ICRC kept")                          \
    X(ICRC,            "ICRC only")                                   \
    X(AGAIN_PSN_UP,    "sent again: PSN + 1")                         \
    X(AGAIN_PAYLOAD,   "sent again: payload byte")                    \
    X(AGAIN_VA,        "sent again: address + 8")                     \
    X(AGAIN_RKEY,      "sent again: R_Key")                           \
    X(AGAIN_OPERAND,   "sent again: atomic operand")                  \
    X(AGAIN_PKEY,      "sent again: P_Key")                           \
    X(AGAIN_EARLIER,   "sent again: from PSN - 1") /* a wrong restart */
/* clang-format on */

enum alteration {
#define ALTERATION(name, text) ALTER_##name,
    ALTERATIONS(ALTERATION)
#undef ALTERATION
        ALTER_CNT,
    ALTER_AGAIN = ALTER_AGAIN_PSN_UP /* from here on: of requests that are sent again */
};

const char *alteration_name(enum alteration kind);

/* The frame (1 is the first) as it is when altered, in `buf` of ROCE_FRAME_MAX bytes. Its length; 0
 * if this kind of packet has no such obligation; -1 if it cannot be built. */
int alteration_make(enum alteration kind, const struct capture *capture, uint32_t frame,
                    uint8_t *buf);

#endif

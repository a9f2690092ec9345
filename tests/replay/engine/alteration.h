/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Alteration: changes one obligation (a field with a value that the protocol prescribes) of one
 * packet in a capture, so that its sender violates the protocol. The packets are responses and
 * retransmitted requests.
 */
#ifndef TESTS_REPLAY_ENGINE_ALTERATION_H
#define TESTS_REPLAY_ENGINE_ALTERATION_H

#include <stdint.h>
#include "replay/capture.h"

/* clang-format off */
#define ALTERATIONS(X)                                                \
    X(SYNDROME_SEQ,    "syndrome to NAK 0x60")                        \
    X(SYNDROME_ACCESS, "syndrome to NAK 0x62")                        \
    X(SYNDROME_ACK,    "syndrome to ACK")    /* the altered ACK takes the place of a NAK */ \
    X(MSN_UP,          "MSN + 1")            /* the MSN counts one message too many */ \
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
    X(AGAIN_EARLIER,   "sent again: from PSN - 1") /* the go-back begins one PSN too early */
/* clang-format on */

enum alteration {
#define ALTERATION(name, text) ALTER_##name,
    ALTERATIONS(ALTERATION)
#undef ALTERATION
        ALTER_CNT,
    ALTER_AGAIN = ALTER_AGAIN_PSN_UP /* first alteration of a retransmitted request */
};

const char *alteration_name(enum alteration kind);

/* Builds the altered copy of frame number `frame`, counted from 1, in `buf` of ROCE_FRAME_MAX
 * bytes. Returns its length, 0 if packets of this kind do not have the obligation, or -1 if the
 * frame cannot be built. */
int alteration_make(enum alteration kind, const struct capture *capture, uint32_t frame,
                    uint8_t *buf);

#endif

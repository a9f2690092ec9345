/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Completion opcodes of work requests, for comparisons with completions. */
#ifndef TEST_WORK_H
#define TEST_WORK_H

#include "device/rnic.h"

/* Returns the opcode of the completion that a work request causes at the requester. For all kinds
 * of SEND, this is RNIC_WC_SEND. */
enum rnic_wc_opcode work_completes_as(enum rnic_wr_opcode opcode);

#endif

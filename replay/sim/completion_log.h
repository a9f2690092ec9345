/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Completion log: completions of work requests and receives of a simulated connection, in order.
 * closed_loop.c compares the log of a play with impairments to the log of a play without
 * impairments.
 */
#ifndef REPLAY_SIM_COMPLETION_LOG_H
#define REPLAY_SIM_COMPLETION_LOG_H

#include "device/rnic.h"

struct sim_completion {
    uint32_t work; /* of the requester: index into work_requests.wr; of the responder: number of
                    * the receive */
    enum rnic_wc_status status;
    uint32_t len;  /* number of bytes received */
    uint64_t hash; /* of the requester: hash of the fetched data, 0 if there is none; of the
                    * responder: hash of the received data, flags, immediate data and invalidated
                    * R_Key, 0 after an error */
};

/* Completions in order. A zero-initialised log is empty. The owner frees `entry`. */
struct completion_log {
    struct sim_completion *entry;
    size_t cnt, cap;
};

/* Appends a completion. Returns 0, or -1 if out of memory. */
int completion_log_add(struct completion_log *log, const struct sim_completion *completion);

/* Moves the log to a new memory block of exactly its size. The log grew while the simulated devices
 * existed, so its block is after the devices' blocks on the heap. There it would split the memory
 * that the devices free. Call after the devices were freed. */
void completion_log_fit(struct completion_log *log);

#endif

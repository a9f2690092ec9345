/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Config: what the environment and the configuration file say about the devices of this process.
 *
 *   RNIC_IFACES   interfaces that get a device, separated by commas or blanks, with * and ? as in
 *                 file names; "!" before a pattern takes away. Default: every one that is suitable.
 *                 A name given without * is taken even if it is down.
 *   RNIC_IMPAIR   impairments of what is sent, as "loss=3%,delay=10us..50us" (port/impair.h)
 *   RNIC_SEED     a number: keys, QPNs and impairments are repeatable; not set or 0: random
 *   RNIC_RECORD   folder, made if need be, for pcapng files of everything sent and received: one
 *                 for each process and interface (mergecap makes one file of them)
 *   RNIC_TIMELINE file for the times of all send requests (timeline_record.h); may be shared
 *   RNIC_LINGER   milliseconds, default 0: what ends a QP (ibv_destroy_qp(), ibv_modify_qp() to
 *                 ERR or RESET, as rdma_disconnect() does, ibv_close_device(), exit()) waits until
 *                 nothing has come in for so long, at most twenty times that. A program that ends
 *                 right after its last message leaves a peer whose ACK was lost without an answer,
 *                 on hardware too; this gives it one.
 *   RNIC_WINDOWS  2B, the default, or 2A: which kind memory windows of type 2 are, and the device
 *                 says (IBV_DEVICE_MEM_WINDOW_TYPE_2A or _2B). A QP to which 2A windows are bound
 *                 cannot be destroyed.
 *   RNIC_CONFIG   the configuration file; default /etc/rnic.conf, which may be missing
 *
 * The file has lines "NAME = VALUE", the names being ifaces, impair, seed, record, timeline, linger
 * and windows, and comments from # on. The environment wins. A line that makes no sense is named on
 * standard error, once, and the process then has no devices: better none than others than asked
 * for.
 */
#ifndef VERBS_CONFIG_H
#define VERBS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_TEXT_MAX 512

struct verbs_config {
    char ifaces[CONFIG_TEXT_MAX];
    char impair[CONFIG_TEXT_MAX];
    char record[CONFIG_TEXT_MAX];
    char timeline[CONFIG_TEXT_MAX];
    uint64_t seed;
    uint64_t linger; /* quiet time before a QP ends, ms (RNIC_LINGER) */
    bool mw_2a;
};

/* Loads file and environment. Returns false, with one line in `error` (CONFIG_TEXT_MAX + 128
 * bytes), for an invalid value. */
bool config_load(struct verbs_config *config, char *error);

/* Parses the text of a configuration file called `name`. */
bool config_parse(struct verbs_config *config, const char *name, const char *text, char *error);

/* Returns whether `iface` is selected; *named says whether a pattern without * or ? selected it. */
bool config_wants(const struct verbs_config *config, const char *iface, bool *named);

#endif

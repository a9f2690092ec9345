/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Config: settings of this process's devices, from the environment and the configuration file.
 *
 *   RNIC_IFACES     interfaces that get a device, separated by commas or blanks, with * and ? as in
 *                   file names; "!" before a pattern excludes. Default: every suitable interface.
 *                   An interface named without * or ? gets a device even if it is down.
 *   RNIC_IMPAIR     impairments of sent packets, and with dir=in or dir=both of received ones, for
 *                   example "loss=3%,delay=10us..50us" (impair/impair_rule.h)
 *   RNIC_IMPAIR_TALLY   file in which rnic-run counts the frames that RNIC_IMPAIR drops
 *                   (port/sys/tally.h); only in the environment
 *   RNIC_SEED       a number: keys, QPNs and impairments are repeatable; not set or 0: random
 *   RNIC_RECORD     folder for pcapng files of all packets sent and received, created if missing:
 *                   one file for each process and interface (mergecap joins them)
 *   RNIC_TIMELINE   file for the times of all send requests (timeline_record.h). Several processes
 *                   can write one file.
 *   RNIC_LINGER     quiet time in milliseconds, default 0. The end of a QP (ibv_destroy_qp(),
 *                   ibv_modify_qp() to ERR or RESET, as rdma_disconnect() does,
 *                   ibv_close_device(), exit()) waits until no packet has arrived for this time,
 *                   at most for twenty quiet times. A program that ends right after its last
 *                   message cannot answer a peer whose ACK was lost, even with hardware. A quiet
 *                   time allows the program's device to answer.
 *   RNIC_WINDOWS    2B, the default, or 2A: kind of memory windows of type 2, which the device
 *                   reports (IBV_DEVICE_MEM_WINDOW_TYPE_2A or _2B). A QP with bound 2A windows
 *                   cannot be destroyed.
 *   RNIC_TAP        interface on which a copy of each sent packet is sent, for tcpdump
 *   RNIC_WIRE       pcap, the default: frames leave on the interface, and on the loopback between
 *                   processes of this machine. shm: frames go through memory shared with the other
 *                   processes of this user in this network namespace, and reach no other machine.
 *   RNIC_CONFIG     the configuration file; default /etc/rnic.conf, which may be missing
 *
 * The file has lines "NAME = VALUE" and comments from # on. The names are ifaces, impair, seed,
 * record, timeline, linger, tap, windows and wire. The environment overrides the file. An invalid
 * line is reported once on standard error. The process then has no devices, because devices with
 * wrong settings would be worse.
 */
#ifndef VERBS_CONFIG_H
#define VERBS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_TEXT_MAX 512 /* size of the text of a value, bytes */

struct verbs_config {
    char ifaces[CONFIG_TEXT_MAX];
    char impair[CONFIG_TEXT_MAX];
    char impair_tally[CONFIG_TEXT_MAX];
    char record[CONFIG_TEXT_MAX];
    char timeline[CONFIG_TEXT_MAX];
    char tap[CONFIG_TEXT_MAX];
    uint64_t seed;
    uint64_t linger; /* quiet time before a QP ends, ms (RNIC_LINGER) */
    bool mw_2a;
    bool shm; /* RNIC_WIRE is "shm" */
};

/* Loads the configuration file and the environment. For an invalid value returns false and writes
 * one line to `error` (CONFIG_TEXT_MAX + 128 bytes). */
bool config_load(struct verbs_config *config, char *error);

/* Parses the text of a configuration file called `name`. */
bool config_parse(struct verbs_config *config, const char *name, const char *text, char *error);

/* Returns whether the configuration selects `iface`. Sets *named if a pattern without * or ?
 * selected it. */
bool config_wants(const struct verbs_config *config, const char *iface, bool *named);

#endif

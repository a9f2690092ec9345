/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Data of rnic-info about the devices, processes and limits of this host (info_data.c), for its two
 * forms of output: text (info.c) and JSON (info_json.c). */
#ifndef RNIC_TOOLS_INFO_H
#define RNIC_TOOLS_INFO_H

#include <stdbool.h>
#include "port/live/live.h"
#include "port/shared/process.h"

/* One QP: a line "qp" in the description that a process reports (verbs/info_report.c). */
struct info_qp {
    unsigned number, peer; /* QP numbers; `peer` and `path_mtu` are 0 for a QP without a peer */
    char type[16], state[16];
    unsigned sq_psn, rq_psn;
    unsigned send_wr, recv_wr; /* number of outstanding send and receive requests */
    unsigned path_mtu;         /* path MTU, bytes */
};

/* Finds the next line that begins with `word`, from *at on. Returns the rest of this line, or NULL
 * if there is none. Moves *at to the line after it. Replaces the end of each line passed by a zero
 * byte. */
char *info_next_line(char **at, const char *word);

/* Reads the next line "qp" from *at on. Returns true, or false if there is none. */
bool info_next_qp(char **at, struct info_qp *qp);

/* Call print() for each device, process or limit. Return 0, or 1 after an error message. `text` is
 * the part of a process's description after the line "comm". */
typedef void info_process_fn(const struct rnic_process *process, const char *comm, char *text);
int info_devices(void (*print)(const struct rnic_iface *iface));
int info_processes(info_process_fn *print);
int info_limits(void (*print)(const char *name, uint64_t value));

/* Prints devices, processes and limits as one line of JSON (rnic-info.schema.json). Returns 0 or
 * 1. */
int info_json(void);

#endif

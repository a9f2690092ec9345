/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent arguments: reads the members of a request and makes replies. agent_rpc.c and
 * agent_rpc_objects.c call these functions. Clients are not trusted, so each of these functions
 * checks the type and the range of the member.
 */
#ifndef REPLAY_AGENT_AGENT_ARGS_H
#define REPLAY_AGENT_AGENT_ARGS_H

#include <jansson.h>
#include "agent/agent_verbs.h"

/* Access rights that a request is allowed to contain. */
#define AGENT_ACCESS_BITS                                                                          \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                   \
     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED)

/* Returns a reply with "ok": false and this error text. */
json_t *agent_error_reply(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns the reply to a request. `rc` is the result of the function that executed the request. If
 * `rc` is 0, the reply has "ok": true. Otherwise it has an error, with the errno if a verb
 * failed. */
json_t *agent_ok_or_error(struct agent_device *dev, int rc);

/* Reads the member `name`, an integer of at most `max`, into *out. Uses `fallback` if the member is
 * absent. Returns true, or false if the member has another type or value. */
bool agent_read_number(const json_t *in, const char *name, uint64_t max, uint64_t fallback,
                       uint64_t *out);

/* Returns the bits of enum ibv_access_flags in the member "access", which is a list of words or a
 * number. Returns -1 if a right is unknown. */
int agent_access_of(const json_t *in);

/* Converts a string of hexadecimal digits to *len bytes. The caller frees the result. Returns NULL
 * if the text is not hexadecimal, if it encodes more than AGENT_DATA_MAX bytes, or if out of
 * memory. */
uint8_t *agent_bytes_of(const json_t *value, uint32_t *len);

/* Each function reads one member of the request, for example "qp". The value of the member is the
 * number of an object. Returns true and sets *out to this number, or returns false if there is no
 * such object. */
bool agent_which_qp(struct agent_device *dev, const json_t *in, uint32_t *out);
bool agent_which_srq(struct agent_device *dev, const json_t *in, uint32_t *out);
bool agent_which_mw(struct agent_device *dev, const json_t *in, uint32_t *out);
bool agent_which_pd(struct agent_device *dev, const json_t *in, uint32_t *out);
bool agent_which_cq(struct agent_device *dev, const json_t *in, uint32_t *out);

/* Sets *out to the protection domain that a request names, or to NULL if it names none. Returns
 * true, or false if there is no such protection domain. */
bool agent_read_pd(struct agent_device *dev, const json_t *in, struct ibv_pd **out);

/* Reads the members that name the local buffer of a work request: "addr", "lkey" and "len". Returns
 * true, or false if a member is out of range. */
bool agent_read_place(const json_t *in, struct agent_place *out);

#endif

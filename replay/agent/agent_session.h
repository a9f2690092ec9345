/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Agent session: serves one client of rocedrill-agent. agent_main.c runs each session in a separate
 * process, so all memory of a session is freed when the process ends. The client is not trusted.
 *
 * A session ends when the client closes the connection, after a line that is not a JSON object, a
 * wrong token, or a line that is too long. It also ends when the client takes too long to send a
 * request or to read a reply.
 */
#ifndef REPLAY_AGENT_AGENT_SESSION_H
#define REPLAY_AGENT_AGENT_SESSION_H

#include "agent/agent_rpc.h"

#define AGENT_TOKEN_MAX 4096u /* longest token, bytes */

struct agent_session {
    const char *device; /* name of the RDMA device; NULL: the first one */
    /* Time limit for a request to arrive completely, and for its reply to be read, s. */
    unsigned seconds;
    char token[AGENT_TOKEN_MAX];
    size_t token_len; /* length of the token; 0: no token required */
};

/* Reads the token from the first line of a file, which other users must not be able to read.
 * Returns 0, or -1 with `error` set. */
int agent_session_token(struct agent_session *session, const char *path, struct error *error);

/* Serves the client at socket `fd`. The caller closes `fd`. */
void agent_session_serve(const struct agent_session *session, int fd, struct agent_device *dev);

#endif

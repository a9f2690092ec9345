/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Roles: the ends of a recorded conversation (requester, responder) that our software RNIC can
 * replace. */
#ifndef REPLAY_INFER_ROLES_H
#define REPLAY_INFER_ROLES_H

enum replay_role {
    REPLAY_RESPONDER = 1,
    REPLAY_REQUESTER = 2,
    REPLAY_BOTH = 3,
    REPLAY_NEITHER = 4, /* only for closed_loop.h: infer and play the trace, but compare nothing */
};

#endif

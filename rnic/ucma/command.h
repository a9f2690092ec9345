/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Commands of rdma/rdma_user_cm.h: types and helpers shared by the files command*.c. Ids, addresses
 * and connections are in command.c, QP attributes in command_qp.c, multicast groups in
 * command_mcast.c. */
#ifndef UCMA_COMMAND_H
#define UCMA_COMMAND_H

#include <errno.h>
#include <string.h>
#include "ucma/ucma.h"

/* struct rdma_ucm_write_cm_event of Linux 6.17, defined here for older kernel headers. */
struct uc_write_event {
    uint32_t id;
    uint32_t reserved;
    uint32_t event;
    uint32_t status;
    uint64_t arg;
};

union uc_body {
    struct uc_write_event write_event;
    struct rdma_ucm_create_id create_id;
    struct rdma_ucm_destroy_id destroy_id;
    struct rdma_ucm_bind_ip bind_ip;
    struct rdma_ucm_bind bind;
    struct rdma_ucm_resolve_ip resolve_ip;
    struct rdma_ucm_resolve_addr resolve_addr;
    struct rdma_ucm_resolve_route resolve_route;
    struct rdma_ucm_query query;
    struct rdma_ucm_connect connect;
    struct rdma_ucm_listen listen;
    struct rdma_ucm_accept accept;
    struct rdma_ucm_reject reject;
    struct rdma_ucm_disconnect disconnect;
    struct rdma_ucm_init_qp_attr init_qp_attr;
    struct rdma_ucm_get_event get_event;
    struct rdma_ucm_set_option set_option;
    struct rdma_ucm_notify notify;
    struct rdma_ucm_join_ip_mcast join_ip_mcast;
    struct rdma_ucm_join_mcast join_mcast;
    struct rdma_ucm_migrate_id migrate_id;
};

struct uc_call {
    struct uc_file *file;
    const union uc_body *in;
    size_t out; /* size of the response buffer, bytes */
};

/* Copies a response to the program, truncated to the size of its buffer. Returns 0, or -ENOSPC if
 * the program passed no buffer. */
static inline int uc_answer(const struct uc_call *call, uint64_t to, const void *from, size_t len)
{
    if (!to || call->out == 0)
        return -ENOSPC;
    memcpy((void *)(uintptr_t)to, from, len < call->out ? len : call->out);
    return 0;
}

static inline bool uc_is_ud(const struct uc_id *id)
{
    return id->qp_type == IBV_QPT_UD;
}

static inline void uc_addr_from(union uc_addr *to, const void *from, size_t len)
{
    memset(to, 0, sizeof *to);
    memcpy(to, from, len < sizeof *to ? len : sizeof *to);
}

/* Each function executes one command. It returns 0 or a negative errno, as the kernel does
 * (drivers/infiniband/core/ucma.c). */
int uc_init_qp_attr(const struct uc_call *call);
int uc_join_ip(const struct uc_call *call);
int uc_join_any(const struct uc_call *call);
int uc_leave(const struct uc_call *call);

#endif

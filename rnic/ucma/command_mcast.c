/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Multicast commands: joining and leaving groups. */
#include "ucma/command.h"

#include <stdlib.h>
#include "wire/gid.h"

static int join_group(const struct uc_call *call, uint32_t handle, uint64_t uid, uint64_t response,
                      const void *from, size_t len)
{
    struct uc_id *id = uc_id_get(call->file, handle);
    union uc_addr addr;
    uint8_t gid[16];
    if (!id)
        return -ENOENT;
    uc_addr_from(&addr, from, len);
    if (!id->port || !uc_is_ud(id) || !uc_gid_of(&addr, gid) || !roce_gid_is_multicast(gid))
        return -EINVAL;
    struct uc_mcast *mcast = calloc(1, sizeof *mcast);
    struct uc_event *event = mcast ? uc_event_new(id, UCMA_MULTICAST_JOIN, 0) : NULL;
    if (!event || uc_handle_new(&mcast->handle) < 0) {
        free(event);
        free(mcast);
        return -ENOMEM;
    }
    mcast->uid = uid;
    const struct rdma_ucm_create_id_resp resp = {.id = mcast->handle};
    int result = uc_answer(call, response, &resp, sizeof resp);
    if (result < 0) {
        free(event);
        uc_mcast_free(mcast);
        return result;
    }
    mcast->next = id->mcasts;
    id->mcasts = mcast;
    event->mcast = mcast;
    event->resp.uid = uid;
    event->resp.id = mcast->handle;
    uc_ah_of(id, &event->resp.param.ud.ah_attr);
    memcpy(event->resp.param.ud.ah_attr.grh.dgid, gid, 16);
    event->resp.param.ud.ah_attr.grh.hop_limit = 1;
    event->resp.param.ud.qp_num = 0xFFFFFF; /* QPN of multicast datagrams (R048) */
    event->resp.param.ud.qkey = UCMA_UDP_QKEY;
    uc_post(event);
    return 0;
}

int uc_join_ip(const struct uc_call *call)
{
    const struct rdma_ucm_join_ip_mcast *in = &call->in->join_ip_mcast;
    return join_group(call, in->id, in->uid, in->response, &in->addr, sizeof in->addr);
}

int uc_join_any(const struct uc_call *call)
{
    const struct rdma_ucm_join_mcast *in = &call->in->join_mcast;
    return join_group(call, in->id, in->uid, in->response, &in->addr, in->addr_size);
}

int uc_leave(const struct uc_call *call)
{
    const struct rdma_ucm_destroy_id *in = &call->in->destroy_id;
    for (struct uc_id *id = uc_ids; id; id = id->next)
        for (struct uc_mcast **at = &id->mcasts; *at; at = &(*at)->next) {
            struct uc_mcast *mcast = *at;
            if (mcast->handle != in->id)
                continue;
            if (id->file != call->file)
                return -EINVAL;
            for (struct uc_event *event; (event = uc_take_event(id->file, id, mcast)) != NULL;)
                free(event);
            const struct rdma_ucm_destroy_id_resp resp = {.events_reported = mcast->reported};
            *at = mcast->next;
            uc_mcast_free(mcast);
            return uc_answer(call, in->response, &resp, sizeof resp);
        }
    return -ENOENT;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* ARP and Neighbour Discovery input: learns the MAC addresses of neighbours, and answers requests
 * for the device's addresses that the kernel does not have. */
#include <string.h>
#include "port/live/live_impl.h"
#include "port/net/neigh.h"

bool live_kernel_has(const struct rnic_live *live, const uint8_t gid[16])
{
    for (unsigned i = 0; i < live->iface.gid_cnt; i++)
        if (live->iface.gid_kernel[i] && memcmp(live->iface.gid[i].gid, gid, 16) == 0)
            return true;
    return false;
}

bool live_device_has(const struct rnic_live *live, const uint8_t gid[16])
{
    for (unsigned i = 0; i < RNIC_GID_MAX; i++)
        if (live->slot_used[i] && memcmp(live->slot[i].gid, gid, 16) == 0)
            return true;
    return false;
}

void live_send_own(struct rnic_live *live, const uint8_t *data, size_t len, uint64_t now)
{
    struct rnic_frame frame = {.data = data, .len = (uint32_t)len};

    if (live_is_attached(live, now))
        rnic_port_send(live->port, &frame, 1, now);
}

bool live_neigh_input(struct rnic_live *live, const struct rnic_frame *frame, uint64_t now)
{
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];
    struct rnic_neigh_msg msg;
    const uint8_t *type = frame->data + 12;

    /* the frame is neither ARP nor IPv6 with ICMPv6 */
    if (!(type[0] == 0x08 && type[1] == 0x06) &&
        !(type[0] == 0x86 && type[1] == 0xdd && frame->len > 20 && frame->data[20] == 58))
        return false;
    if (!rnic_neigh_read(frame->data, frame->len, &msg))
        return true;
    if (msg.kind == RNIC_NEIGH_TELLS) {
        neigh_cache_put(&live->neigh, msg.target, msg.mac, now);
        pthread_cond_broadcast(&live->neigh_learned);
    } else if (live_device_has(live, msg.target) && !live_kernel_has(live, msg.target)) {
        live_send_own(live, buf, rnic_neigh_tell(buf, live->iface.mac, &msg), now);
    }
    return true;
}

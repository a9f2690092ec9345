/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "node.h"

#include <string.h>

static size_t output(void *ctx, uint8_t *buf, size_t cap, uint64_t now)
{
    return rnic_output(ctx, buf, cap, now);
}

static void input(void *ctx, const uint8_t *frame, size_t len, uint64_t now)
{
    rnic_input(ctx, frame, len, now);
}

static uint64_t deadline(void *ctx)
{
    return rnic_deadline(ctx);
}

static void expire(void *ctx, uint64_t now)
{
    rnic_expire(ctx, now);
}

struct simnet_node node_of(struct rnic *rnic, const uint8_t mac[6])
{
    struct simnet_node node = {rnic, {0}, output, input, deadline, expire};

    memcpy(node.mac, mac, sizeof(node.mac));
    return node;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/shared/qpn_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "port/shared/registry.h"

struct rnic_block_name rnic_qpn_alloc_block_name(uint32_t number)
{
    struct rnic_block_name name;

    snprintf(name.text, sizeof(name.text), "qpnblk/%u", number);
    return name;
}

static int bind_block(const struct rnic_qpn_alloc *qpns, uint32_t number)
{
    if (qpns->whole)
        return -1;
    return rnic_registry_bind(qpns->iface, rnic_qpn_alloc_block_name(number).text);
}

static bool has_block(const struct rnic_qpn_alloc *qpns, uint32_t number)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        if (qpns->block[i].number == number)
            return true;
    return false;
}

/* Claims a block, starting the search at an unpredictable number. A new process then rarely gets
 * the QPNs of a crashed process. The peers of the crashed process may still send to those QPNs.
 * Returns 0 or a negative errno. */
static int claim_block(struct rnic_qpn_alloc *qpns, struct rnic_entropy *entropy)
{
    const uint32_t cnt = RNIC_BLOCK_LAST - RNIC_BLOCK_FIRST + 1;
    uint32_t start = rnic_entropy_u32(entropy) % cnt;
    struct rnic_block *grown;

    if (qpns->block_cnt == RNIC_BLOCKS_MAX)
        return -ENOSPC;
    grown = realloc(qpns->block, (qpns->block_cnt + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    qpns->block = grown;
    for (uint32_t i = 0; i < cnt; i++) {
        uint32_t number = RNIC_BLOCK_FIRST + (start + i) % cnt;
        int fd;

        if (has_block(qpns, number))
            continue;
        fd = bind_block(qpns, number);
        if (fd == -EADDRINUSE)
            continue;
        if (fd < 0 && !qpns->whole)
            return fd;
        grown += qpns->block_cnt++;
        memset(grown, 0, sizeof(*grown));
        grown->number = number;
        grown->fd = fd;
        grown->free = RNIC_BLOCK_QPNS;
        return 0;
    }
    return -ENOSPC;
}

int rnic_qpn_alloc_init(struct rnic_qpn_alloc *qpns, const char *iface, bool whole,
                        struct rnic_entropy *entropy)
{
    memset(qpns, 0, sizeof(*qpns));
    snprintf(qpns->iface, sizeof(qpns->iface), "%s", iface);
    qpns->whole = whole;
    return claim_block(qpns, entropy);
}

void rnic_qpn_alloc_drop(struct rnic_qpn_alloc *qpns)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++) {
        if (qpns->block[i].fd >= 0)
            close(qpns->block[i].fd);
        qpns->block[i].fd = -1;
    }
}

void rnic_qpn_alloc_forget(struct rnic_qpn_alloc *qpns)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        qpns->block[i].fd = -1;
}

void rnic_qpn_alloc_fini(struct rnic_qpn_alloc *qpns)
{
    rnic_qpn_alloc_drop(qpns);
    free(qpns->block);
    memset(qpns, 0, sizeof(*qpns));
}

static bool bit_get(const uint64_t *bits, uint32_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static void bit_flip(uint64_t *bits, uint32_t at)
{
    bits[at / 64] ^= UINT64_C(1) << (at % 64);
}

/* Makes one resting QPN of the block (RNIC_QPNS_REST) available again: the QPN that was freed
 * first. */
static void end_rest(struct rnic_block *block)
{
    uint32_t at = block->rest[block->rest_first];

    block->rest_first = (block->rest_first + 1) % RNIC_QPNS_REST;
    block->rest_cnt--;
    bit_flip(block->resting, at);
    bit_flip(block->used, at);
    block->free++;
}

/* Returns a block that has a QPN to allocate, or NULL if there is none. If all QPNs are in use or
 * resting (RNIC_QPNS_REST), makes a resting QPN available. */
static struct rnic_block *last_resort(struct rnic_qpn_alloc *qpns)
{
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        if (qpns->block[i].free > 0)
            return &qpns->block[i];
    for (unsigned i = 0; i < qpns->block_cnt; i++)
        if (qpns->block[i].rest_cnt > 0) {
            end_rest(&qpns->block[i]);
            return &qpns->block[i];
        }
    return NULL;
}

uint32_t rnic_qpn_alloc_get(struct rnic_qpn_alloc *qpns, struct rnic_entropy *entropy, bool *grew)
{
    struct rnic_block *block = NULL;
    uint32_t at;

    *grew = false;
    /* A block is used only while more than a quarter of its QPNs are available: QPNs remain hard to
     * guess, and the search below is short. */
    for (unsigned i = 0; i < qpns->block_cnt && !block; i++)
        if (qpns->block[i].free > RNIC_BLOCK_QPNS / 4)
            block = &qpns->block[i];
    if (!block && claim_block(qpns, entropy) == 0) {
        block = &qpns->block[qpns->block_cnt - 1];
        *grew = true;
    }
    if (!block)
        block = last_resort(qpns);
    if (!block)
        return 0;
    at = rnic_entropy_u32(entropy) % RNIC_BLOCK_QPNS;
    while (bit_get(block->used, at))
        at = (at + 1) % RNIC_BLOCK_QPNS;
    bit_flip(block->used, at);
    block->free--;
    return block->number * RNIC_BLOCK_QPNS + at;
}

void rnic_qpn_alloc_put(struct rnic_qpn_alloc *qpns, uint32_t qpn)
{
    uint32_t at = qpn % RNIC_BLOCK_QPNS;

    for (unsigned i = 0; i < qpns->block_cnt; i++) {
        struct rnic_block *block = &qpns->block[i];

        if (block->number != qpn / RNIC_BLOCK_QPNS || !bit_get(block->used, at) ||
            bit_get(block->resting, at))
            continue;
        if (block->rest_cnt == RNIC_QPNS_REST)
            end_rest(block);
        block->rest[(block->rest_first + block->rest_cnt++) % RNIC_QPNS_REST] = (uint16_t)at;
        bit_flip(block->resting, at);
    }
}

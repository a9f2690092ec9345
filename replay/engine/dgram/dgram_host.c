/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram/dgram_host.h"

#include <string.h>
#include "engine/base/inject.h"

/* Sets `out` to the address of one member of a multicast group. No packet to the group contains the
 * address of a member. So `out` is the address of another host in the capture. If the capture has
 * no other host, `out` is the sender's address plus 1. */
static void member_of(const struct trace *trace, const struct dgram_stream *s, uint8_t out[16])
{
    for (uint32_t i = 0; i < trace->flows.cnt && i < DGRAM_STREAMS_MAX; i++) {
        const struct trace_flow *flow = &trace->flow[i];

        if (flow->encap == s->encap && memcmp(flow->src, s->peer, 16) != 0) {
            memcpy(out, flow->src, 16);
            return;
        }
    }
    memcpy(out, s->peer, 16);
    out[15] = out[15] == 0xFE ? 1 : (uint8_t)(out[15] + 1);
}

struct dgram_host *dgram_hosts_find(struct dgram_hosts *hosts, const struct trace *trace,
                                    const struct dgram_stream *s)
{
    uint8_t addr[16];
    struct dgram_host *host;

    memcpy(addr, s->addr, 16);
    if (s->multicast)
        member_of(trace, s, addr);
    for (size_t i = 0; i < hosts->cnt; i++)
        if (hosts->host[i].encap == s->encap && memcmp(hosts->host[i].addr, addr, 16) == 0)
            return &hosts->host[i];
    if (hosts->cnt == DGRAM_HOSTS_MAX)
        return NULL;
    host = &hosts->host[hosts->cnt++];
    memcpy(host->addr, addr, 16);
    host->encap = s->encap;
    shadow_init(&host->memory);
    return host;
}

int dgram_host_claim(struct dgram_host *host, const struct trace *trace,
                     const struct dgram_stream *s)
{
    struct roce_pkt pkt;

    for (size_t i = 0; i < s->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[s->pkt[i]];

        if (p->dropped || !roce_opcode_has(roce_opcode(p->opcode), ROCE_HDR_RETH))
            continue;
        trace_parse(p, &pkt);
        if (pkt.reth.dma_len <= RNIC_MESSAGE_MAX &&
            shadow_claim(&host->memory, pkt.reth.rkey, pkt.reth.va, pkt.reth.dma_len,
                         RNIC_ACCESS_REMOTE_WRITE) != 0)
            return -1;
    }
    return 0;
}

static const struct trace_packet *first_good(const struct trace *trace,
                                             const struct dgram_stream *s)
{
    for (size_t i = 0; i < s->cnt; i++)
        if (!trace->pkt[s->pkt[i]].dropped)
            return &trace->pkt[s->pkt[i]];
    return &trace->pkt[s->pkt[0]];
}

const char *dgram_host_open(struct dgram_host *host, const struct trace *trace,
                            const struct dgram_stream *s)
{
    static const uint8_t member[6] = {0x02, 0, 0, 0, 0, 0x02};
    struct rnic_attr attr = {.gid_cnt = 1};
    uint8_t src[6];
    const char *why = shadow_map(&host->memory);

    if (why)
        return why;
    inject_macs(first_good(trace, s), attr.mac, src);
    if (s->multicast)
        memcpy(attr.mac, member, sizeof(member));
    memcpy(host->mac, attr.mac, sizeof(host->mac));
    memcpy(attr.gid[0].gid, host->addr, 16);
    attr.gid[0].type = host->encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    attr.pkey[attr.pkey_cnt++] = s->pkey;
    host->rnic = rnic_new(&attr);
    if (!host->rnic || rnic_pd_new(host->rnic, &host->pd) != 0 ||
        rnic_cq_new(host->rnic, 64, &host->cq) != 0)
        return "no memory for the RNIC";
    for (uint32_t i = 0; i < host->memory.keys.cnt; i++) {
        int rc;

        if (host->memory.region[i].rkey == 0)
            return "a request uses R_Key 0, which our RNIC cannot register";
        rc = shadow_register(&host->memory.region[i], host->pd);
        if (rc != 0)
            return rnic_error_text(rc);
    }
    return NULL;
}

static void dgram_host_close(struct dgram_host *host)
{
    for (uint32_t i = 0; i < host->memory.keys.cnt; i++)
        host->memory.region[i].mr = NULL; /* rnic_del() frees the memory region */
    rnic_del(host->rnic);
    shadow_free(&host->memory);
}

void dgram_hosts_close(struct dgram_hosts *hosts)
{
    for (size_t i = 0; i < hosts->cnt; i++)
        dgram_host_close(&hosts->host[i]);
    hosts->cnt = 0;
}

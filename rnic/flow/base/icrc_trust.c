/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/icrc_trust.h"

#include <string.h>

static struct roce_icrc_host *find_host(struct roce_icrc_trust *trust, const uint8_t src[16])
{
    return &trust->host[(src[15] ^ src[14] * 7u) % ROCE_ICRC_TRUST_HOSTS];
}

enum roce_icrc_status roce_icrc_trust_status(struct roce_icrc_trust *trust, const uint8_t src[16],
                                             enum roce_icrc_status seen, uint32_t frame,
                                             uint64_t time)
{
    struct roce_icrc_host *host = find_host(trust, src);

    if (seen == ROCE_ICRC_UNVERIFIED)
        return seen;
    trust->good += seen == ROCE_ICRC_GOOD;
    if (host->good + host->bad == 0)
        memcpy(host->addr, src, 16);
    else if (memcmp(host->addr, src, 16) != 0)
        return seen;
    host->frame = frame;
    host->time = time;
    if (seen == ROCE_ICRC_GOOD) {
        host->good++;
        return seen;
    }
    host->bad++;
    trust->bad++;
    return host->good == 0 && host->bad > ROCE_ICRC_TRUST_DAMAGED ? ROCE_ICRC_UNVERIFIED : seen;
}

bool roce_icrc_trust_undecided(struct roce_icrc_trust *trust, const uint8_t src[16])
{
    struct roce_icrc_host *host = find_host(trust, src);

    return host->good == 0 && memcmp(host->addr, src, 16) == 0;
}

unsigned roce_icrc_trust_suspect(struct roce_icrc_trust *trust, const uint8_t src[16])
{
    struct roce_icrc_host *host = find_host(trust, src);

    return host->bad && memcmp(host->addr, src, 16) == 0 ? (unsigned)(host - trust->host)
                                                         : ROCE_ICRC_TRUST_HOSTS;
}

bool roce_icrc_trust_defer(struct roce_icrc_trust *trust, const uint8_t src[16],
                           const struct roce_deferred_icrc *held)
{
    struct roce_icrc_host *host = find_host(trust, src);

    if (host->deferred_cnt == ROCE_ICRC_TRUST_DAMAGED)
        return false;
    host->deferred[host->deferred_cnt++] = *held;
    trust->deferred++;
    return true;
}

struct roce_icrc_host *roce_icrc_trust_deferred(struct roce_icrc_trust *trust,
                                                const uint8_t src[16])
{
    struct roce_icrc_host *host = find_host(trust, src);

    return host->deferred_cnt && memcmp(host->addr, src, 16) == 0 ? host : NULL;
}

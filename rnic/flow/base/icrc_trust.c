/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/icrc_trust.h"

#include <string.h>

static struct roce_trust_host *find(struct roce_trust *trust, const uint8_t src[16])
{
    return &trust->host[(src[15] ^ src[14] * 7u) % ROCE_TRUST_HOSTS];
}

enum roce_icrc_status roce_trust_icrc(struct roce_trust *trust, const uint8_t src[16],
                                      enum roce_icrc_status seen, uint32_t frame, uint64_t time)
{
    struct roce_trust_host *host = find(trust, src);

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
    return host->good == 0 && host->bad > ROCE_TRUST_DAMAGED ? ROCE_ICRC_UNVERIFIED : seen;
}

bool roce_trust_hold(struct roce_trust *trust, const uint8_t src[16],
                     const struct roce_trust_held *held)
{
    struct roce_trust_host *host = find(trust, src);

    if (host->good || host->held_cnt == ROCE_TRUST_DAMAGED || memcmp(host->addr, src, 16) != 0)
        return false;
    host->held[host->held_cnt++] = *held;
    trust->held++;
    return true;
}

struct roce_trust_host *roce_trust_held(struct roce_trust *trust, const uint8_t src[16])
{
    struct roce_trust_host *host = find(trust, src);

    return host->held_cnt && memcmp(host->addr, src, 16) == 0 ? host : NULL;
}

void roce_trust_taken(struct roce_trust *trust, const uint8_t src[16])
{
    struct roce_trust_host *host = find(trust, src);

    if (host->bad && memcmp(host->addr, src, 16) == 0)
        host->taken = true;
}

void roce_trust_ignored(struct roce_trust *trust, const uint8_t src[16])
{
    struct roce_trust_host *host = find(trust, src);

    if (host->bad && memcmp(host->addr, src, 16) == 0)
        host->ignored = true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/header_template.h"

#include "wire/envelope.h"

/* offsets of the fields that differ between the packets of a QP (RFC 791, RFC 8200, RFC 768; IBTA
 * ch. 8 for the GRH) */
#define IP4_LEN_OFF  2
#define IP4_CSUM_OFF 10
#define IP6_LEN_OFF  4
#define GRH_LEN_OFF  4
#define UDP_LEN_OFF  4

int roce_header_template_init(struct roce_header_template *env, const struct roce_pkt *model)
{
    struct roce_pkt plain = *model;
    struct roce_wr wr = roce_wr(env->bytes, sizeof(env->bytes));
    int net_off;

    plain.header_template = NULL;
    if (!roce_pkt_has(model, ROCE_HDR_ETH) || model->vlan_cnt > 1 || model->ip4_options_len)
        return ROCE_ERR_INVALID;
    switch (model->encap) {
    case ROCE_ENCAP_V1:
    case ROCE_ENCAP_V2_IP4:
    case ROCE_ENCAP_V2_IP6: break;
    default: return ROCE_ERR_INVALID;
    }
    memset(env, 0, sizeof(*env));
    net_off = roce_envelope_build(&plain, 0, 0, &wr);
    if (net_off < 0)
        return net_off;
    env->len = (uint8_t)wr.off;
    env->net_off = (uint8_t)net_off;
    env->encap = model->encap;
    return ROCE_OK;
}

void roce_header_template_set_sport(struct roce_header_template *env, uint16_t sport)
{
    if (env->encap != ROCE_ENCAP_V1)
        roce_bits_put(env->bytes + env->len - ROCE_UDP_LEN, 0, 0, 16, sport);
}

static void add16(uint8_t *p, size_t n)
{
    roce_bits_put(p, 0, 0, 16, roce_bits_get(p, 0, 0, 16) + n);
}

/* Updates the Internet checksum at `p` after a 16-bit word was changed from `before` to `before` +
 * `n` (RFC 1624, equation 3). */
static void update_csum(uint8_t *p, uint32_t before, uint32_t n)
{
    uint32_t sum = (uint32_t)(~roce_bits_get(p, 0, 0, 16) & 0xFFFF) + (~before & 0xFFFF) +
                   ((before + n) & 0xFFFF);

    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    roce_bits_put(p, 0, 0, 16, ~sum & 0xFFFF);
}

int roce_header_template_build(const struct roce_header_template *env, size_t bth_len,
                               struct roce_wr *wr)
{
    uint8_t *p = roce_wr_room(wr, env->len);
    uint8_t *net;

    if (!p)
        return ROCE_ERR_NOSPACE;
    if (bth_len > UINT16_MAX - ROCE_HEADER_TEMPLATE_MAX)
        return ROCE_ERR_INVALID;
    /* Copy a constant number of bytes, which is faster than copying env->len bytes. The caller
     * later overwrites the bytes after the template with the rest of the frame. */
    if (wr->len - wr->off < ROCE_HEADER_TEMPLATE_MAX)
        memcpy(p, env->bytes, env->len);
    else if (env->len <= ROCE_HEADER_TEMPLATE_SHORT)
        memcpy(p, env->bytes, ROCE_HEADER_TEMPLATE_SHORT);
    else
        memcpy(p, env->bytes, ROCE_HEADER_TEMPLATE_MAX);
    net = p + env->net_off;
    switch (env->encap) {
    case ROCE_ENCAP_V2_IP4:
        update_csum(net + IP4_CSUM_OFF, (uint32_t)roce_bits_get(net, IP4_LEN_OFF, 0, 16),
                    (uint32_t)bth_len);
        add16(net + IP4_LEN_OFF, bth_len);
        add16(net + ROCE_IP4_LEN + UDP_LEN_OFF, bth_len);
        break;
    case ROCE_ENCAP_V2_IP6:
        add16(net + IP6_LEN_OFF, bth_len);
        add16(net + ROCE_IP6_LEN + UDP_LEN_OFF, bth_len);
        break;
    default:
        add16(net + GRH_LEN_OFF, bth_len);
        break; /* RoCEv1: the GRH is the only header with a length */
    }
    return env->net_off;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/base/conn_pairs.h"

#include <stdlib.h>
#include <string.h>
#include "wire/pkt.h"

void conn_key_init(struct conn_key *key, const struct roce_conn_summary *sum)
{
    bool swap = memcmp(sum->side[0].addr, sum->side[1].addr, 16) > 0;

    *key = (struct conn_key){.svc = sum->facts.svc,
                             .gsi = sum->side[0].qpn == ROCE_QP_GSI ||
                                    sum->side[1].qpn == ROCE_QP_GSI};
    memcpy(key->addr[0], sum->side[swap].addr, 16);
    memcpy(key->addr[1], sum->side[!swap].addr, 16);
}

/* Connection without a counterpart: no corresponding connection of the other capture was found
 * yet. */
struct single {
    const struct conn_key *key;
    uint32_t index;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_service(const struct conn_key *a, const struct conn_key *b)
{
    int rc = compare_numbers(a->svc, b->svc);

    return rc ? rc : compare_numbers(a->gsi, b->gsi);
}

static int compare_work(const struct conn_key *a, const struct conn_key *b)
{
    int rc = compare_service(a, b);

    rc = rc ? rc : compare_numbers(a->messages, b->messages);
    return rc ? rc : compare_numbers(a->bytes, b->bytes);
}

static int compare_addresses(const struct conn_key *a, const struct conn_key *b)
{
    int rc = compare_service(a, b);

    return rc ? rc : memcmp(a->addr, b->addr, sizeof(a->addr));
}

static int compare_both(const struct conn_key *a, const struct conn_key *b)
{
    int rc = compare_addresses(a, b);

    return rc ? rc : compare_work(a, b);
}

#define SINGLE_CMP(what)                                                                           \
    static int single_##what(const void *a, const void *b)                                         \
    {                                                                                              \
        const struct single *x = a, *y = b;                                                        \
        int rc = compare_##what(x->key, y->key);                                                   \
                                                                                                   \
        return rc ? rc : compare_numbers(x->index, y->index);                                      \
    }
SINGLE_CMP(both)
SINGLE_CMP(addresses)
SINGLE_CMP(work)

/* The three conditions of conn_pairs.h, in the same order. `key` compares two keys. `single`
 * compares two connections for qsort(): the keys first, then the numbers of the connections. */
static const struct {
    int (*key)(const struct conn_key *, const struct conn_key *);
    int (*single)(const void *, const void *);
} conditions[] = {{compare_both, single_both},
                  {compare_addresses, single_addresses},
                  {compare_work, single_work}};

/* Lists the connections without a partner. Returns their number. */
static uint32_t list_singles(struct single *list, const struct conn_key *key, uint32_t cnt,
                             const uint32_t *partner)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < cnt; i++)
        if (partner[i] == CONN_PAIRS_NONE)
            list[n++] = (struct single){&key[i], i};
    return n;
}

int conn_pairs_find(const struct conn_key *old, uint32_t old_cnt, const struct conn_key *new,
                    uint32_t new_cnt, uint32_t *partner)
{
    struct single *a = calloc(old_cnt + 1u, sizeof(*a)), *b = calloc(new_cnt + 1u, sizeof(*b));
    uint32_t *of_old = malloc((old_cnt + 1u) * sizeof(*of_old));
    int rc = a && b && of_old ? 0 : -1;

    for (uint32_t i = 0; rc == 0 && i < old_cnt; i++)
        of_old[i] = CONN_PAIRS_NONE;
    for (uint32_t i = 0; i < new_cnt; i++)
        partner[i] = CONN_PAIRS_NONE;
    for (unsigned c = 0; rc == 0 && c < sizeof(conditions) / sizeof(conditions[0]); c++) {
        uint32_t a_cnt = list_singles(a, old, old_cnt, of_old);
        uint32_t b_cnt = list_singles(b, new, new_cnt, partner);

        qsort(a, a_cnt, sizeof(*a), conditions[c].single);
        qsort(b, b_cnt, sizeof(*b), conditions[c].single);
        for (uint32_t i = 0, k = 0; i < a_cnt && k < b_cnt;) {
            int order = conditions[c].key(a[i].key, b[k].key);

            if (order == 0) {
                of_old[a[i].index] = b[k].index;
                partner[b[k].index] = a[i].index;
            }
            i += order <= 0;
            k += order >= 0;
        }
    }
    free(a);
    free(b);
    free(of_old);
    return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "suite/payload_mask.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "infer/request_table.h"

/* Kinds of data that have a mask. */
enum { OF_MEMORY, OF_PACKET, OF_OTHER };

/* ---- SipHash-2-4 -------------------------------------------------------------------------------
 */

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[3];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[2] = rotate_left(v[2], 32);
}

/* Returns the hash of `cnt` 64-bit words. */
static uint64_t sip_hash(const uint64_t key[2], const uint64_t *word, size_t cnt)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};

    for (size_t i = 0; i <= cnt; i++) {
        uint64_t m = i < cnt ? word[i] : (uint64_t)(8 * cnt) << 56;

        v[3] ^= m;
        sip_round(v);
        sip_round(v);
        v[0] ^= m;
    }
    v[2] ^= 0xFF;
    for (unsigned i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- addresses that atomics used ---------------------------------------------------------------
 */

struct atomic_word {
    uint64_t device;
    uint64_t word;
};

/* Records the 8-byte words at the address of an atomic request. If the address is not aligned,
 * these are two words, although a responder rejects the request. */
static int add_counter(struct payload_masks *m, uint32_t device, uint64_t va)
{
    struct atomic_word first = {device, va / 8}, last = {device, (va + 7) / 8};

    return keymap_add(&m->counters, &first) == KEYMAP_NONE ||
                   keymap_add(&m->counters, &last) == KEYMAP_NONE
               ? -1
               : 0;
}

/* If a packet has READ or WRITE data, stores the memory address of this data. If the packet is an
 * atomic request, records its memory. */
static int find_place(struct payload_masks *m, const struct rc_direction *dir, uint32_t idx)
{
    const struct inferred_setup *s = &dir->setup;
    const struct pkt_event *event = &s->event[idx];
    const struct roce_opcode *op = event_opcode(s, idx);
    const struct request_pkt *e = request_at(s, event->rel);
    struct masked_place *place = &m->place[event->pkt];
    struct roce_pkt pkt;

    if (roce_opcode_is_atomic(op) && !event->response) {
        trace_parse(event_packet(s, idx), &pkt);
        return add_counter(m, dir->host, pkt.atomiceth.va);
    }
    if (event_packet(s, idx)->payload_len == 0)
        return 0;
    if (!event->response && e &&
        (op->kind == ROCE_KIND_WRITE || op->kind == ROCE_KIND_ATOMIC_WRITE))
        *place = (struct masked_place){.memory = true, .device = dir->host, .va = e->va};
    if (event->response && op->kind == ROCE_KIND_READ_RESP && event->request != EVENT_NONE) {
        trace_parse(event_packet(s, event->request), &pkt);
        *place = (struct masked_place){
            .memory = true,
            .device = dir->host,
            .va = pkt.reth.va + (uint64_t)(event->rel - s->event[event->request].rel) * s->mtu};
    } else if (event->response && op->kind == ROCE_KIND_READ_RESP && e &&
               event_opcode(s, e->event)->kind == ROCE_KIND_READ) {
        *place = (struct masked_place){.memory = true,
                                       .device = dir->host,
                                       .va = e->va + (uint64_t)(event->rel - e->rel) * s->mtu};
    }
    return 0;
}

int payload_masks_make(struct payload_masks *m, const struct session *session)
{
    int rc = 0;

    *m = (struct payload_masks){.drive = session};
    keymap_init(&m->counters, sizeof(struct atomic_word));
    m->place = calloc(session->trace->cnt + 1, sizeof(*m->place));
    if (!m->place || getrandom(m->key, sizeof(m->key), 0) != (ssize_t)sizeof(m->key))
        return -1;
    for (size_t i = 0; rc == 0 && i < session->dir_cnt; i++)
        for (uint32_t k = 0; rc == 0 && k < session->dir[i].setup.event_cnt; k++)
            rc = find_place(m, &session->dir[i], k);
    return rc;
}

void payload_masks_free(struct payload_masks *m)
{
    free(m->place);
    keymap_free(&m->counters);
    memset(m, 0, sizeof(*m));
}

/* ---- applying the masks ------------------------------------------------------------------------
 */

static void mask_memory(const struct payload_masks *m, const struct masked_place *place,
                        uint64_t va, uint8_t *bytes, uint32_t len)
{
    uint64_t word[5] = {OF_MEMORY};
    uint64_t mask = 0;

    memcpy(&word[1], m->drive->host[place->device].addr, 16);
    for (uint32_t i = 0; i < len; i++, va++) {
        if (i == 0 || va % 8 == 0) {
            const struct atomic_word counter = {place->device, va / 8};

            word[3] = va / 8;
            mask =
                keymap_get(&m->counters, &counter) == KEYMAP_NONE ? sip_hash(m->key, word, 4) : 0;
        }
        bytes[i] ^= (uint8_t)(mask >> 8 * (va % 8));
    }
}

static void mask_words(const struct payload_masks *m, uint64_t word[5], uint32_t off,
                       uint8_t *bytes, uint32_t len)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < len; i++, off++) {
        if (i == 0 || off % 8 == 0) {
            word[4] = off / 8;
            mask = sip_hash(m->key, word, 5);
        }
        bytes[i] ^= (uint8_t)(mask >> 8 * (off % 8));
    }
}

void payload_mask_packet(const struct payload_masks *m, uint32_t pkt, uint32_t off, uint8_t *bytes,
                         uint32_t len)
{
    const struct trace_packet *p = &m->drive->trace->pkt[pkt];
    uint64_t word[5] = {OF_PACKET, p->psn, p->flow, p->opcode};

    if (m->place[pkt].memory)
        mask_memory(m, &m->place[pkt], m->place[pkt].va + off, bytes, len);
    else
        mask_words(m, word, off, bytes, len);
}

void payload_mask_other(const struct payload_masks *m, uint64_t a, uint64_t b, uint8_t *bytes,
                        uint32_t len)
{
    uint64_t word[5] = {OF_OTHER, a, b};

    mask_words(m, word, 0, bytes, len);
}

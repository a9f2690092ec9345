/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slots of a capture ring: whether libpcap has a frame to give, told without a system call.
 *
 * A capture handle that finds its ring empty asks the kernel each time, with poll(2): 0.4 us, and
 * the ring's lock, which who sends to it needs as well. The ring is shared memory, and the word at
 * the head of each slot says whose the slot is (packet(7), PACKET_RX_RING, version 2 of the
 * header). libpcap takes the slots one after another, so the frame it gave last says which is next.
 * It does not say where its ring is; the kernel does, among the mappings of the process.
 *
 * What is derived here is compared with each frame that comes. Where it cannot be derived, or once
 * it was wrong, no ring is ever called empty, and libpcap is asked as before.
 */
#ifndef PORT_FRAMEIO_RING_PEEK_H
#define PORT_FRAMEIO_RING_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_peek {
    const uint8_t *begin; /* the ring; NULL: not known */
    const uint8_t *end;
    const uint8_t *next; /* the slot that the next frame comes into; NULL: not known */
    const uint8_t *last; /* the frame before came from there; NULL: there was none */
    size_t block;        /* slots do not cross the bounds of blocks of so many bytes */
    size_t slot;         /* bytes from one slot to the next in a block; 0: not known yet */
    size_t head;         /* a frame begins so far behind the beginning of its slot, or up to 4
                          * bytes further: what a VLAN tag takes that libpcap puts back */
};

/* Finds the ring of a handle that has given no frame yet by its descriptor. */
void ring_peek_find(struct ring_peek *slots, int fd);

/* libpcap gave a frame, which begins there. For each, in their order. */
void ring_peek_took(struct ring_peek *slots, const uint8_t *frame);

/* Whether ring_peek_empty() can say so. */
static inline bool ring_peek_tell(const struct ring_peek *slots)
{
    return slots->next != NULL;
}

/* True: libpcap has no frame. (TP_STATUS_KERNEL, in the first word.) */
static inline bool ring_peek_empty(const struct ring_peek *slots)
{
    const void *word = slots->next;

    return word && __atomic_load_n((const uint32_t *)word, __ATOMIC_RELAXED) == 0;
}

/* A slot that is not empty: asks for its frame, which another CPU wrote. */
static inline void ring_peek_prefetch(const struct ring_peek *slots)
{
    __builtin_prefetch(slots->next + slots->head);
    __builtin_prefetch(slots->next + slots->head + 64);
}

#endif

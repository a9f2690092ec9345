/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/ring_peek.h"

#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define VLAN_TAG 4u

_Static_assert(TP_STATUS_KERNEL == 0, "a slot without a frame");
_Static_assert(offsetof(struct tpacket2_hdr, tp_status) == 0, "the first word of a slot");

static bool option(int fd, int name, int *value)
{
    socklen_t len = sizeof(*value);

    return getsockopt(fd, SOL_PACKET, name, value, &len) == 0;
}

/* Where this process has the memory of a socket, by its inode number: the only mapping of that
 * name, or none. */
static void find_mapping(struct ring_peek *slots, ino_t inode)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char name[40];
    char *line = NULL;
    size_t size = 0;
    unsigned cnt = 0;

    snprintf(name, sizeof(name), " socket:[%ju]\n", (uintmax_t)inode);
    while (maps && getline(&line, &size, maps) > 0) {
        const char *at = strstr(line, name);
        union {
            uintptr_t number;
            const uint8_t *address;
        } begin, end;

        if (!at || at[strlen(name)] != '\0' ||
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR " r", &begin.number, &end.number) != 2)
            continue;
        slots->begin = begin.address;
        slots->end = end.address;
        cnt++;
    }
    free(line);
    if (maps)
        fclose(maps);
    if (cnt != 1)
        slots->begin = slots->end = NULL;
}

/* In a slot are a header, the sender's address, room, and the frame: the kernel aligns the end of
 * an Ethernet header of 14 bytes, and does not shift it for a longer one. */
void ring_peek_find(struct ring_peek *slots, int fd)
{
    int version, reserve;
    struct stat is;

    *slots = (struct ring_peek){.block = (size_t)sysconf(_SC_PAGESIZE)};
    if (!option(fd, PACKET_VERSION, &version) || version != TPACKET_V2 ||
        !option(fd, PACKET_RESERVE, &reserve) || reserve < 0 || fstat(fd, &is) < 0)
        return;
    slots->head = TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + (size_t)reserve - ETH_HLEN - VLAN_TAG;
    find_mapping(slots, is.st_ino);
    slots->next = slots->begin;
}

/* libpcap's blocks are a page where that holds a slot, and a slot each where not. */
static const uint8_t *behind(const struct ring_peek *slots, const uint8_t *slot)
{
    size_t at = (size_t)(slot - slots->begin);
    size_t to = at + slots->slot;

    if (slots->slot < slots->block && to % slots->block + slots->slot > slots->block)
        to += slots->block - to % slots->block;
    return slots->begin + to < slots->end ? slots->begin + to : slots->begin;
}

void ring_peek_took(struct ring_peek *slots, const uint8_t *frame)
{
    const uint8_t *slot = frame - slots->head;

    if (!slots->begin)
        return;
    slot -= (uintptr_t)slot % TPACKET_ALIGNMENT;
    if (slots->last && slots->slot == 0 && slot > slots->last && slot < slots->end) {
        slots->slot = (size_t)(slot - slots->last); /* the second */
    } else if (slot != slots->next) {
        slots->begin = slots->next = NULL;
        return;
    }
    slots->last = slot;
    slots->next = slots->slot ? behind(slots, slot) : NULL;
    __builtin_prefetch(slots->next); /* libpcap looks there as soon as this frame is seen to */
}

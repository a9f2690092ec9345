/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Ptrmap: from an object of the device to the program's object around it. A hash table, open
 * addressing, grown ahead of need so that a look-up always ends; the caller locks. */
#ifndef VERBS_PTRMAP_H
#define VERBS_PTRMAP_H

#include <stddef.h>

struct ptrmap {
    struct ptrmap_slot {
        const void *key; /* NULL: free */
        void *value;
    } * slots;
    size_t cap, cnt; /* cap is 0 or a power of two, more than twice cnt */
};

int ptrmap_put(struct ptrmap *map, const void *key, void *value); /* 0 or ENOMEM */
void *ptrmap_get(const struct ptrmap *map, const void *key);      /* or NULL */
void ptrmap_remove(struct ptrmap *map, const void *key);
void ptrmap_free(struct ptrmap *map);

#endif

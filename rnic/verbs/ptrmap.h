/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Ptrmap: map from an object of the device to the program's object around it. A hash table with
 * open addressing, never full, so that every lookup ends. The caller locks. */
#ifndef VERBS_PTRMAP_H
#define VERBS_PTRMAP_H

#include <stddef.h>

struct ptrmap {
    struct ptrmap_slot {
        const void *key; /* object of the device; NULL: slot is empty */
        void *value;
    } * slots;
    size_t cap,
        cnt; /* number of slots and entries; cap is 0 or a power of two, more than twice cnt */
};

int ptrmap_put(struct ptrmap *map, const void *key, void *value); /* Adds an entry. Returns 0 or
                                                                   * ENOMEM. */
void *ptrmap_get(const struct ptrmap *map, const void *key);      /* Returns the value of `key`, or
                                                                   * NULL. */
void ptrmap_remove(struct ptrmap *map, const void *key);
void ptrmap_free(struct ptrmap *map);

#endif

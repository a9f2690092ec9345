/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * List: a doubly linked ring. Links are embedded in the listed objects. The head is a link, too. A
 * link outside of all lists points to itself.
 */
#ifndef RNIC_LIST_H
#define RNIC_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct rnic_list {
    struct rnic_list *next;
    struct rnic_list *prev;
};

/* Returns the object of type `type` that contains `link` as its member `member`. */
#define RNIC_LIST_OF(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void rnic_list_init(struct rnic_list *link)
{
    link->next = link;
    link->prev = link;
}

static inline bool rnic_list_empty(const struct rnic_list *link)
{
    return link->next == link;
}

/* Appends `link`, which must be in no list, to the list `head`. */
static inline void rnic_list_add(struct rnic_list *head, struct rnic_list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

/* Removes `link` from its list. No effect if `link` is in no list. */
static inline void rnic_list_del(struct rnic_list *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
    rnic_list_init(link);
}

#endif

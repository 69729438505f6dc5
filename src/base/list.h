/* SPDX-License-Identifier: Apache-2.0 */
/* list - an intrusive doubly linked ring. A node is in one list at a time.
 *
 * Owner: whoever embeds the nodes; the list owns nothing. Thread: one at a time. */
#ifndef AERO_SRC_BASE_LIST_H
#define AERO_SRC_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct aeroi_list {
    struct aeroi_list *next;
    struct aeroi_list *prev;
} aeroi_list;

#define AEROI_CONTAINER(node, type, member) \
    ((type *)(void *)((char *)(node) - offsetof(type, member)))

static inline void
aeroi_list_init(aeroi_list *list)
{
    list->next = list;
    list->prev = list;
}

static inline bool
aeroi_list_empty(const aeroi_list *list)
{
    return list->next == list;
}

static inline void
aeroi_list_push_front(aeroi_list *list, aeroi_list *node)
{
    node->next = list->next;
    node->prev = list;
    list->next->prev = node;
    list->next = node;
}

static inline void
aeroi_list_push_back(aeroi_list *list, aeroi_list *node)
{
    node->next = list;
    node->prev = list->prev;
    list->prev->next = node;
    list->prev = node;
}

/* A node that is in no list stays in none. */
static inline void
aeroi_list_remove(aeroi_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node;
    node->prev = node;
}

/* NULL when empty. */
static inline aeroi_list *
aeroi_list_pop_front(aeroi_list *list)
{
    aeroi_list *node = list->next;
    if (node == list) {
        return NULL;
    }
    aeroi_list_remove(node);
    return node;
}

/* Moves all nodes of `from` to the empty list `to`. */
static inline void
aeroi_list_move(aeroi_list *to, aeroi_list *from)
{
    if (aeroi_list_empty(from)) {
        aeroi_list_init(to);
        return;
    }
    *to = *from;
    to->next->prev = to;
    to->prev->next = to;
    aeroi_list_init(from);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/container.h"

#include <stdlib.h>
#include <string.h>

#include <aeroloop/types.h>

#include "devserver/msgpack.h"

#define FLAG_ORDERED 0x01
#define LIST_FLAGS FLAG_ORDERED
#define MAP_FLAGS 0x03 /* ordered by key, and by value */

/* A container that is being written. */
typedef struct frame {
    bool is_map;
    bool is_ordered;
    uint64_t left;       /* elements still to come; a pair counts two */
    uint8_t *element;    /* start of the element that is being written */
    uint8_t *previous;   /* start of the one before; NULL at first */
    size_t first_pair;   /* in rewriter.pairs */
    const uint8_t *body; /* first real element */
} frame;

typedef struct pair {
    const uint8_t *key;
    size_t key_len;
    size_t len; /* key and value; set when the map is closed */
} pair;

typedef struct rewriter {
    const aero_allocator *allocator;
    aeroi_reader in;
    uint8_t *out; /* next byte */
    frame *frames;
    size_t frame_count;
    size_t frame_cap;
    pair *pairs; /* of all open maps */
    size_t pair_count;
    size_t pair_cap;
} rewriter;

/* Room for one more item of an array that doubles. */
static aero_status
array_grow(const aero_allocator *allocator, void **items, size_t *cap, size_t count,
           size_t item_size)
{
    if (count < *cap) {
        return AERO_OK;
    }
    size_t new_cap = *cap == 0 ? 16 : *cap * 2;
    void *grown = aeroi_realloc(allocator, *items, new_cap * item_size);
    if (grown == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    *items = grown;
    *cap = new_cap;
    return AERO_OK;
}

/* Takes the metadata element of a container that has one and returns its flags. */
static aero_status
flags_take(aeroi_reader *in, aeros_element *head, uint8_t *out_flags)
{
    *out_flags = 0;
    if (head->count == 0) {
        return AERO_OK;
    }
    aeroi_reader ahead = *in;
    aeros_element first;
    if (!aeros_element_read(&ahead, &first)) {
        return AERO_ERR_PROTOCOL;
    }
    if (first.kind != AEROS_KIND_EXT) {
        return AERO_OK;
    }
    bool is_map = head->kind == AEROS_KIND_MAP;
    if (is_map) {
        aeros_element value;
        if (!aeros_element_read(&ahead, &value) || value.kind != AEROS_KIND_NIL) {
            return AERO_ERR_PROTOCOL;
        }
    }
    *in = ahead;
    head->count--;
    *out_flags = first.ext_type & (is_map ? MAP_FLAGS : LIST_FLAGS);
    return AERO_OK;
}

static aero_status
container_open(rewriter *rw, aeros_element *head)
{
    if (rw->frame_count >= AEROS_CONTAINER_DEPTH_MAX) {
        return AERO_ERR_PROTOCOL;
    }
    aero_status status = array_grow(rw->allocator, (void **)&rw->frames, &rw->frame_cap,
                                    rw->frame_count, sizeof *rw->frames);
    if (status != AERO_OK) {
        return status;
    }
    uint8_t flags = 0;
    status = flags_take(&rw->in, head, &flags);
    if (status != AERO_OK) {
        return status;
    }
    bool is_map = head->kind == AEROS_KIND_MAP;
    uint64_t count = is_map ? 2ull * head->count : head->count;
    if (count > aeroi_reader_left(&rw->in)) {
        return AERO_ERR_PROTOCOL; /* an element takes a byte at least */
    }
    uint32_t written = head->count + (flags != 0 ? 1 : 0);
    rw->out = is_map ? aeros_map_header_write(rw->out, written)
                     : aeros_list_header_write(rw->out, written);
    if (flags != 0) {
        *rw->out++ = 0xc7;
        *rw->out++ = 0;
        *rw->out++ = flags;
        if (is_map) {
            *rw->out++ = 0xc0;
        }
    }
    rw->frames[rw->frame_count++] = (frame){
        .is_map = is_map,
        .is_ordered = (flags & FLAG_ORDERED) != 0,
        .left = count,
        .first_pair = rw->pair_count,
        .body = rw->out,
    };
    return AERO_OK;
}

static aero_status
key_add(rewriter *rw, const uint8_t *start)
{
    aero_status status = array_grow(rw->allocator, (void **)&rw->pairs, &rw->pair_cap,
                                    rw->pair_count, sizeof *rw->pairs);
    if (status == AERO_OK) {
        rw->pairs[rw->pair_count++] =
            (pair){.key = start, .key_len = (size_t)(rw->out - start)};
    }
    return status;
}

static int
bytes_order(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    size_t len = a_len < b_len ? a_len : b_len;
    int order = len == 0 ? 0 : memcmp(a, b, len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

/* Order of two elements that are no containers. */
static int
scalar_order(const aeros_element *a, const aeros_element *b)
{
    if (a->kind != b->kind) {
        return (a->kind > b->kind) - (a->kind < b->kind);
    }
    switch (a->kind) {
    case AEROS_KIND_NEGATIVE:
    case AEROS_KIND_UNSIGNED:
        return (a->integer > b->integer) - (a->integer < b->integer);
    case AEROS_KIND_DOUBLE:
        return (a->number > b->number) - (a->number < b->number);
    case AEROS_KIND_STRING:
    case AEROS_KIND_BYTES:
    case AEROS_KIND_GEOJSON:
    case AEROS_KIND_EXT:
        return bytes_order(a->data, a->len, b->data, b->len);
    default:
        return 0;
    }
}

static int
pair_order(const void *a, const void *b)
{
    const pair *left = a;
    const pair *right = b;
    aeroi_reader reader;
    aeros_element x;
    aeros_element y;
    aeroi_reader_init(&reader, left->key, left->key_len);
    bool ok = aeros_element_read(&reader, &x);
    aeroi_reader_init(&reader, right->key, right->key_len);
    ok = aeros_element_read(&reader, &y) && ok;
    return ok ? scalar_order(&x, &y) : 0;
}

/* Puts the pairs of an unflagged map in the order of their keys. */
static aero_status
pairs_sort(rewriter *rw, const frame *map, pair *pairs, size_t count)
{
    size_t len = (size_t)(rw->out - map->body);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *end = i + 1 < count ? pairs[i + 1].key : rw->out;
        pairs[i].len = (size_t)(end - pairs[i].key);
    }
    qsort(pairs, count, sizeof *pairs, pair_order);
    for (size_t i = 1; i < count; i++) {
        if (pair_order(&pairs[i - 1], &pairs[i]) == 0) {
            return AERO_ERR_PROTOCOL;
        }
    }
    uint8_t *sorted = aeroi_malloc(rw->allocator, len);
    if (sorted == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    uint8_t *to = sorted;
    for (size_t i = 0; i < count; i++) {
        memcpy(to, pairs[i].key, pairs[i].len);
        to += pairs[i].len;
    }
    memcpy(rw->out - len, sorted, len);
    aeroi_free(rw->allocator, sorted);
    return AERO_OK;
}

static aero_status
map_close(rewriter *rw, const frame *map)
{
    pair *pairs = rw->pairs + map->first_pair;
    size_t count = rw->pair_count - map->first_pair;
    rw->pair_count = map->first_pair;
    for (size_t i = 1; i < count; i++) {
        int order = pair_order(&pairs[i - 1], &pairs[i]);
        if (order == 0 || (order > 0 && map->is_ordered)) {
            return AERO_ERR_PROTOCOL;
        }
        if (order > 0) {
            return pairs_sort(rw, map, pairs, count);
        }
    }
    return AERO_OK;
}

/* The element that began at frame->element has been written. */
static aero_status
element_done(rewriter *rw, frame *parent)
{
    if (parent->is_map || !parent->is_ordered) {
        return AERO_OK;
    }
    uint8_t *previous = parent->previous;
    parent->previous = parent->element;
    if (previous == NULL) {
        return AERO_OK;
    }
    int order = 0;
    aero_status status = aeros_msgpack_compare(
        rw->allocator, previous, (size_t)(parent->element - previous), parent->element,
        (size_t)(rw->out - parent->element), &order);
    if (status != AERO_OK) {
        return status;
    }
    return order > 0 ? AERO_ERR_PROTOCOL : AERO_OK;
}

static bool
is_map_key(const aeros_element *element)
{
    return element->kind == AEROS_KIND_NEGATIVE ||
           element->kind == AEROS_KIND_UNSIGNED || element->kind == AEROS_KIND_STRING ||
           (element->kind == AEROS_KIND_BYTES && element->len > 0 &&
            element->data[0] == AERO_PARTICLE_BLOB);
}

/* Takes one element of the innermost container. */
static aero_status
element_take(rewriter *rw)
{
    frame *top = &rw->frames[rw->frame_count - 1];
    bool is_key = top->is_map && top->left % 2 == 0;
    aeros_element element;
    if (!aeros_element_read(&rw->in, &element) || element.kind == AEROS_KIND_WILDCARD ||
        element.kind == AEROS_KIND_INF || (is_key && !is_map_key(&element))) {
        return AERO_ERR_PROTOCOL;
    }
    top->left--;
    top->element = rw->out;
    if (element.kind == AEROS_KIND_LIST || element.kind == AEROS_KIND_MAP) {
        return container_open(rw, &element);
    }
    rw->out = aeros_element_write(rw->out, &element);
    if (is_key) {
        return key_add(rw, top->element);
    }
    return element_done(rw, top);
}

static aero_status
rewrite_all(rewriter *rw)
{
    while (rw->frame_count > 0) {
        frame *top = &rw->frames[rw->frame_count - 1];
        aero_status status = AERO_OK;
        if (top->left > 0) {
            status = element_take(rw);
        }
        else {
            if (top->is_map) {
                status = map_close(rw, top);
            }
            rw->frame_count--;
            if (status == AERO_OK && rw->frame_count > 0) {
                status = element_done(rw, &rw->frames[rw->frame_count - 1]);
            }
        }
        if (status != AERO_OK) {
            return status;
        }
    }
    /* Nothing may follow the value. */
    return aeroi_reader_left(&rw->in) == 0 ? AERO_OK : AERO_ERR_PROTOCOL;
}

aero_status
aeros_container_rewrite(const aero_allocator *allocator, uint8_t particle,
                        const uint8_t *data, size_t len, uint8_t *out, size_t *out_len)
{
    rewriter rw = {.allocator = aeroi_allocator_or_default(allocator), .out = out};
    aeroi_reader_init(&rw.in, data, len);
    aeros_element head;
    aeros_kind kind = particle == AERO_PARTICLE_LIST ? AEROS_KIND_LIST : AEROS_KIND_MAP;
    aero_status status = AERO_ERR_PROTOCOL;
    if (aeros_element_read(&rw.in, &head) && head.kind == kind) {
        status = container_open(&rw, &head);
    }
    if (status == AERO_OK) {
        status = rewrite_all(&rw);
    }
    *out_len = status == AERO_OK ? (size_t)(rw.out - out) : 0;
    aeroi_free(rw.allocator, rw.frames);
    aeroi_free(rw.allocator, rw.pairs);
    return status;
}

/* Two containers that are being compared. */
typedef struct twins {
    uint64_t left_a;
    uint64_t left_b;
} twins;

/* Skips the metadata element and returns how many elements follow. */
static bool
container_enter(aeroi_reader *reader, aeros_element *head, uint64_t *out_left)
{
    uint8_t flags = 0;
    if (flags_take(reader, head, &flags) != AERO_OK) {
        return false;
    }
    *out_left = head->kind == AEROS_KIND_MAP ? 2ull * head->count : head->count;
    return true;
}

/* One step: compares the next elements; containers of one kind are entered. */
static aero_status
compare_step(aeroi_reader *a, aeroi_reader *b, twins *entered, bool *out_enter,
             int *out_order)
{
    aeros_element x;
    aeros_element y;
    *out_enter = false;
    if (!aeros_element_read(a, &x) || !aeros_element_read(b, &y)) {
        return AERO_ERR_PROTOCOL;
    }
    *out_order = scalar_order(&x, &y);
    if (*out_order != 0 || (x.kind != AEROS_KIND_LIST && x.kind != AEROS_KIND_MAP)) {
        return AERO_OK;
    }
    if (!container_enter(a, &x, &entered->left_a) ||
        !container_enter(b, &y, &entered->left_b)) {
        return AERO_ERR_PROTOCOL;
    }
    /* Maps are compared by size first. */
    if (x.kind == AEROS_KIND_MAP && entered->left_a != entered->left_b) {
        *out_order = entered->left_a > entered->left_b ? 1 : -1;
        return AERO_OK;
    }
    *out_enter = true;
    return AERO_OK;
}

aero_status
aeros_msgpack_compare(const aero_allocator *allocator, const uint8_t *a, size_t a_len,
                      const uint8_t *b, size_t b_len, int *out_order)
{
    aeroi_reader reader_a;
    aeroi_reader reader_b;
    aeroi_reader_init(&reader_a, a, a_len);
    aeroi_reader_init(&reader_b, b, b_len);
    twins *stack = NULL;
    size_t count = 0;
    size_t cap = 0;
    twins top = {1, 1};
    aero_status status = AERO_OK;
    int order = 0;
    for (;;) {
        if (top.left_a == 0 || top.left_b == 0) {
            order = (top.left_a > 0) - (top.left_b > 0);
            if (order != 0 || count == 0) {
                break;
            }
            top = stack[--count];
            continue;
        }
        top.left_a--;
        top.left_b--;
        twins entered = {0, 0};
        bool enter = false;
        status = compare_step(&reader_a, &reader_b, &entered, &enter, &order);
        if (status != AERO_OK || order != 0) {
            break;
        }
        if (enter) {
            status = array_grow(allocator, (void **)&stack, &cap, count, sizeof *stack);
            if (status != AERO_OK) {
                break;
            }
            stack[count++] = top;
            top = entered;
        }
    }
    aeroi_free(allocator, stack);
    *out_order = order;
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/link.h"

#include "devserver/server.h"
#include "devserver/submit.h"
#include "wire/msg.h"

#define IMAGE_FIXED_SIZE (AERO_DIGEST_SIZE + 4 + 8 + 2 + 2)

/* A frame that was sent and has no answer yet. */
typedef struct link_wait {
    aeroi_list node;
    uint32_t id;
    bool is_proxy;
    aeros_call *call; /* NULL: nobody cares */
} link_wait;

static const aero_allocator *
link_allocator(const aeros_link *link)
{
    return link->from->server->allocator;
}

/* One awaited message has come (or never will). */
static void
wait_end(aeros_link *link, link_wait *w, const uint8_t *answer, size_t len)
{
    aeros_call *call = w->call;
    aeroi_list_remove(&w->node);
    aeroi_free(link_allocator(link), w);
    if (call == NULL) {
        return;
    }
    call->waiting--;
    if (call->waiting > 0) {
        return;
    }
    aeros_owner *owner = call->owner;
    aeroi_list_remove(&call->node);
    aeroi_free(link_allocator(link), call);
    if (owner != NULL) {
        owner->pending--;
        owner->done_cb(owner, answer, len);
    }
}

static link_wait *
wait_find(aeros_link *link, uint32_t id)
{
    for (aeroi_list *at = link->waits.next; at != &link->waits; at = at->next) {
        link_wait *w = AEROI_CONTAINER(at, link_wait, node);
        if (w->id == id) {
            return w;
        }
    }
    return NULL;
}

/* The row's index goes into the message: the other node does not know it. */
static bool
answer_take(aeros_link *link, link_wait *w, const uint8_t *payload, size_t len)
{
    if (len < AEROI_MSG_SIZE) {
        return false;
    }
    if (w->call == NULL) {
        wait_end(link, w, NULL, 0);
        return true;
    }
    uint8_t *answer = aeroi_malloc(link_allocator(link), len);
    if (answer == NULL) {
        return false;
    }
    memcpy(answer, payload, len);
    aeroi_store_be32(answer + 14, w->call->index);
    wait_end(link, w, answer, len);
    aeroi_free(link_allocator(link), answer);
    return true;
}

static bool
on_frame(aeros_pipe *pipe, uint8_t kind, uint32_t id, const uint8_t *payload,
         size_t len)
{
    aeros_link *link = AEROI_CONTAINER(pipe, aeros_link, pipe);
    link_wait *w = wait_find(link, id);
    if (w == NULL) {
        return false;
    }
    if (kind == AEROS_LINK_ANSWER && w->is_proxy) {
        return answer_take(link, w, payload, len);
    }
    if (kind != AEROS_LINK_ACK || w->is_proxy) {
        return false;
    }
    wait_end(link, w, NULL, 0);
    return true;
}

/* Copies may be lost with the socket: a node that is still up is filled anew. */
static void
on_end(aeros_pipe *pipe)
{
    aeros_link *link = AEROI_CONTAINER(pipe, aeros_link, pipe);
    aeros_server_refill(link->from->server, link->from->index, link->to->index);
    aeros_link_close(link);
}

static const aeros_pipe_events link_events = {
    .frame_cb = on_frame,
    .end_cb = on_end,
};

void
aeros_link_init(aeros_link *link, aeros_node *from, aeros_node *to)
{
    link->from = from;
    link->to = to;
    link->next_id = 0;
    aeroi_list_init(&link->waits);
    aeros_pipe_init(&link->pipe, from->server->allocator, from->server->loop,
                    &link_events);
}

void
aeros_link_close(aeros_link *link)
{
    aeroi_list ended;
    aeros_pipe_close(&link->pipe);
    /* Those that go on may use the link anew. */
    aeroi_list_move(&ended, &link->waits);
    while (!aeroi_list_empty(&ended)) {
        link_wait *w = AEROI_CONTAINER(ended.next, link_wait, node);
        uint8_t timeout[AEROI_MSG_SIZE];
        uint32_t index = w->call != NULL ? w->call->index : 0;
        aeros_answer_store(timeout, AERO_SERVER_TIMEOUT, 0, 0, index, 0);
        wait_end(link, w, w->is_proxy ? timeout : NULL,
                 w->is_proxy ? sizeof timeout : 0);
    }
}

/* Connects when that was not done yet. */
static aero_status
link_ready(aeros_link *link)
{
    if (aeros_pipe_is_open(&link->pipe)) {
        return AERO_OK;
    }
    aero_status status = aeros_pipe_connect(&link->pipe, &link->to->link_address);
    if (status != AERO_OK) {
        return status;
    }
    size_t start;
    aeroi_buf *out = aeros_pipe_begin(&link->pipe, AEROS_LINK_HELLO, 0, &start);
    aeroi_buf_put_be64(out, link->from->server->link_secret);
    aeroi_buf_put_u8(out, (uint8_t)link->from->index);
    aeros_pipe_end(&link->pipe, start);
    return AERO_OK;
}

/* Begins a frame that `call` waits for. NULL when it cannot be sent: then the call does
 * not wait for it. */
static aeroi_buf *
frame_begin(aeros_link *link, aeros_link_kind kind, aeros_call *call, size_t *out_start)
{
    if (link_ready(link) != AERO_OK) {
        return NULL;
    }
    link_wait *w = aeroi_calloc(link_allocator(link), 1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    w->id = ++link->next_id;
    w->is_proxy = kind == AEROS_LINK_PROXY;
    w->call = call;
    aeroi_list_push_back(&link->waits, &w->node);
    if (call != NULL) {
        call->waiting++;
    }
    return aeros_pipe_begin(&link->pipe, (uint8_t)kind, w->id, out_start);
}

void
aeros_link_copy(aeros_link *link, uint32_t ns, const aeros_record *record,
                const aeros_store *store, aeros_call *call)
{
    size_t start;
    aeroi_buf *out = frame_begin(link, AEROS_LINK_COPY, call, &start);
    if (out == NULL) {
        return;
    }
    const aeros_set *set = aeros_store_set(store, record->set_id);
    uint8_t set_len = set != NULL ? set->name_len : 0;
    aeroi_buf_put_u8(out, (uint8_t)ns);
    aeroi_buf_put(out, record->digest, AERO_DIGEST_SIZE);
    aeroi_buf_put_be32(out, record->void_time);
    aeroi_buf_put_be64(out, record->lut_ns);
    aeroi_buf_put_be16(out, record->generation);
    aeroi_buf_put_be16(out, record->bin_count);
    aeroi_buf_put_u8(out, set_len);
    if (set != NULL) {
        aeroi_buf_put(out, set->name, set_len);
    }
    aeroi_buf_put_be32(out, record->key_len);
    aeroi_buf_put(out, aeros_record_key(record), record->key_len);
    aeroi_buf_put(out, record->data, record->ops_len);
    aeros_pipe_end(&link->pipe, start);
}

void
aeros_link_remove(aeros_link *link, uint32_t ns, const uint8_t *digest, uint64_t lut_ns,
                  aeros_call *call)
{
    size_t start;
    aeroi_buf *out = frame_begin(link, AEROS_LINK_REMOVE, call, &start);
    if (out == NULL) {
        return;
    }
    aeroi_buf_put_u8(out, (uint8_t)ns);
    aeroi_buf_put(out, digest, AERO_DIGEST_SIZE);
    aeroi_buf_put_be64(out, lut_ns);
    aeros_pipe_end(&link->pipe, start);
}

void
aeros_link_proxy(aeros_link *link, uint32_t ns, const void *body, size_t len,
                 aeros_call *call)
{
    size_t start;
    aeroi_buf *out = frame_begin(link, AEROS_LINK_PROXY, call, &start);
    if (out == NULL) {
        return;
    }
    aeroi_buf_put_u8(out, (uint8_t)ns);
    aeroi_buf_put(out, body, len);
    aeros_pipe_end(&link->pipe, start);
}

void
aeros_link_filled(aeros_link *link, uint32_t partition)
{
    if (link_ready(link) != AERO_OK) {
        return;
    }
    size_t start;
    aeroi_buf *out = aeros_pipe_begin(&link->pipe, AEROS_LINK_FILLED, 0, &start);
    aeroi_buf_put_be16(out, (uint16_t)partition);
    aeros_pipe_end(&link->pipe, start);
}

aero_status
aeros_image_apply(aeros_store *store, const uint8_t *image, size_t len)
{
    aeroi_reader reader;
    aeroi_reader_init(&reader, image, len);
    const uint8_t *fixed = aeroi_reader_take(&reader, IMAGE_FIXED_SIZE);
    uint8_t set_len = 0;
    uint32_t key_len = 0;
    if (fixed == NULL || !aeroi_reader_u8(&reader, &set_len)) {
        return AERO_ERR_PROTOCOL;
    }
    const uint8_t *set = aeroi_reader_take(&reader, set_len);
    if (set == NULL || !aeroi_reader_be32(&reader, &key_len)) {
        return AERO_ERR_PROTOCOL;
    }
    const uint8_t *key = aeroi_reader_take(&reader, key_len);
    const uint8_t *ops = reader.next;
    size_t ops_len = aeroi_reader_left(&reader);
    uint16_t bin_count = aeroi_load_be16(fixed + AERO_DIGEST_SIZE + 14);
    if (key == NULL || aeroi_ops_skip(&reader, bin_count) != AERO_OK ||
        aeroi_reader_left(&reader) != 0) {
        return AERO_ERR_PROTOCOL;
    }
    uint64_t lut_ns = aeroi_load_be64(fixed + AERO_DIGEST_SIZE + 4);
    const aeros_record *old = aeros_store_find(store, fixed);
    uint16_t set_id = 0;
    aero_status status =
        aeros_store_set_make(store, (const char *)set, set_len, &set_id);
    if (status != AERO_OK || (old != NULL && old->lut_ns > lut_ns) ||
        (old == NULL && aeros_store_removed_after(store, fixed, lut_ns)) ||
        aeros_store_truncated(store, set_id, lut_ns)) {
        return status;
    }
    aeros_record *record =
        aeros_record_new(store->allocator, (uint32_t)ops_len, key_len);
    if (record == NULL) {
        return AERO_ERR_NO_MEMORY;
    }
    memcpy(record->digest, fixed, AERO_DIGEST_SIZE);
    record->void_time = aeroi_load_be32(fixed + AERO_DIGEST_SIZE);
    record->lut_ns = lut_ns;
    record->generation = aeroi_load_be16(fixed + AERO_DIGEST_SIZE + 12);
    record->bin_count = bin_count;
    record->set_id = set_id;
    memcpy(record->data, ops, ops_len);
    memcpy(record->data + ops_len, key, key_len);
    status = aeros_store_put(store, record);
    if (status != AERO_OK) {
        aeroi_free(store->allocator, record);
    }
    return status;
}

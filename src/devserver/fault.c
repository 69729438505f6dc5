/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/fault.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/batch_codec.h"

#define ROW_HEAD_SIZE (4 + AERO_DIGEST_SIZE)
#define FIELD_HEADER_SIZE 5u

static const char *const kind_texts[] = {
#define X(name, word) word,
    AEROS_FAULT_MAP(X)
#undef X
};

static const char *const command_texts[] = {"read",    "write", "delete",
                                            "operate", "batch", "info"};
static const char *const how_texts[] = {"silent", "close", "reset", "refuse"};

const char *
aeros_fault_kind_text(aeros_fault_kind kind)
{
    return kind_texts[kind];
}

void
aeros_faults_init(aeros_faults *faults, const aero_allocator *allocator)
{
    memset(faults, 0, sizeof *faults);
    faults->allocator = allocator;
    aeroi_list_init(&faults->list);
}

void
aeros_faults_deinit(aeros_faults *faults)
{
    if (faults->allocator == NULL) {
        return; /* it was never set up */
    }
    while (!aeroi_list_empty(&faults->list)) {
        aeros_faults_remove(faults,
                            AEROI_CONTAINER(faults->list.next, aeros_fault, node));
    }
}

static bool
fault_closes_port(const aeros_fault *fault)
{
    return fault->effect.kind == AEROS_FAULT_REFUSE &&
           fault->effect.how == AEROS_FAULT_HOW_REFUSE;
}

static bool
fault_is_active(const aeros_fault *fault)
{
    return !fault_closes_port(fault) &&
           (fault->count == 0 || fault->applied < fault->count);
}

uint32_t
aeros_faults_add(aeros_faults *faults, const aeros_fault *fault)
{
    if (faults->count == AEROS_FAULTS_MAX) {
        return 0;
    }
    aeros_fault *added = aeroi_malloc(faults->allocator, sizeof *added);
    if (added == NULL) {
        return 0;
    }
    *added = *fault;
    added->effect.id = ++faults->last_id;
    aeroi_list_push_back(&faults->list, &added->node);
    faults->count++;
    if (fault_is_active(added)) {
        faults->active++;
    }
    return added->effect.id;
}

aeros_fault *
aeros_faults_find(const aeros_faults *faults, uint32_t id)
{
    for (aeroi_list *at = faults->list.next; at != &faults->list; at = at->next) {
        aeros_fault *fault = AEROI_CONTAINER(at, aeros_fault, node);
        if (fault->effect.id == id) {
            return fault;
        }
    }
    return NULL;
}

void
aeros_faults_remove(aeros_faults *faults, aeros_fault *fault)
{
    if (fault_is_active(fault)) {
        faults->active--;
    }
    faults->count--;
    aeroi_list_remove(&fault->node);
    aeroi_free(faults->allocator, fault);
}

/* splitmix64: the same draws for the same seed, on every machine. */
static uint64_t
random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static bool
chance_draw(aeros_fault *fault)
{
    double drawn = (double)(random_next(&fault->random) >> 11) * 0x1p-53;
    return drawn < fault->chance;
}

static bool
text_equals(aeroi_text text, const char *word)
{
    return strlen(word) == text.len &&
           (text.len == 0 || memcmp(text.data, word, text.len) == 0);
}

/* Whether the keys of the fault fit; changes nothing. */
static bool
fault_fits(const aeros_fault *fault, const aeros_fault_subject *subject)
{
    if (fault->of_node >= 0 && (uint32_t)fault->of_node != subject->node) {
        return false;
    }
    if ((fault->commands & (uint32_t)subject->command) == 0) {
        return false;
    }
    if (fault->connection != 0 && fault->connection != subject->connection) {
        return false;
    }
    if (fault->ns[0] != '\0' && !text_equals(subject->ns, fault->ns)) {
        return false;
    }
    return !fault->has_set || text_equals(subject->set, fault->set);
}

/* Counts a match; true when the fault acts this time. */
static bool
fault_acts(aeros_faults *faults, aeros_fault *fault, uint64_t connection)
{
    fault->matched++;
    if (fault->first_connection && fault->connection == 0) {
        fault->connection = connection;
    }
    if (fault->matched <= fault->after_count ||
        (fault->has_chance && !chance_draw(fault))) {
        return false;
    }
    fault->applied++;
    if (!fault_is_active(fault)) {
        faults->active--;
    }
    return true;
}

static const aeros_fault_effect *
faults_search(aeros_faults *faults, const aeros_fault_subject *subject, bool connect)
{
    for (aeroi_list *at = faults->list.next; at != &faults->list; at = at->next) {
        aeros_fault *fault = AEROI_CONTAINER(at, aeros_fault, node);
        bool refuses = fault->effect.kind == AEROS_FAULT_REFUSE;
        if (refuses == connect && fault_is_active(fault) &&
            fault_fits(fault, subject) &&
            fault_acts(faults, fault, subject->connection)) {
            return &fault->effect;
        }
    }
    return NULL;
}

const aeros_fault_effect *
aeros_faults_meet(aeros_faults *faults, const aeros_fault_subject *subject)
{
    return faults_search(faults, subject, false);
}

const aeros_fault_effect *
aeros_faults_meet_connect(aeros_faults *faults, uint32_t node, uint64_t connection)
{
    aeros_fault_subject subject = {
        .node = node, .connection = connection, .command = AEROS_COMMAND_OTHER};
    return faults_search(faults, &subject, true);
}

bool
aeros_faults_close_port(const aeros_faults *faults, uint32_t node)
{
    for (aeroi_list *at = faults->list.next; at != &faults->list; at = at->next) {
        const aeros_fault *fault = AEROI_CONTAINER(at, aeros_fault, node);
        if (fault_closes_port(fault) &&
            (fault->of_node < 0 || (uint32_t)fault->of_node == node)) {
            return true;
        }
    }
    return false;
}

static void
commands_put(const aeros_fault *fault, aeroi_buf *out)
{
    aeroi_buf_put_str(out, ",command=");
    if (fault->commands == AEROS_COMMAND_ANY) {
        aeroi_buf_put_str(out, "any");
        return;
    }
    const char *between = "";
    for (size_t i = 0; i < sizeof command_texts / sizeof command_texts[0]; i++) {
        if ((fault->commands & 1u << i) != 0) {
            aeroi_buf_printf(out, "%s%s", between, command_texts[i]);
            between = "+";
        }
    }
}

static void
effect_put(const aeros_fault_effect *effect, aeroi_buf *out)
{
    switch (effect->kind) {
    case AEROS_FAULT_DELAY:
        aeroi_buf_printf(out, ",ms=%" PRIu32, effect->ms);
        break;
    case AEROS_FAULT_TRICKLE:
        aeroi_buf_printf(out, ",ms=%" PRIu32 ",bytes=%" PRIu32, effect->ms,
                         effect->bytes);
        break;
    case AEROS_FAULT_TRUNCATE:
        aeroi_buf_printf(out, ",bytes=%" PRIu32, effect->bytes);
        break;
    case AEROS_FAULT_WRONG_LENGTH:
        if (effect->has_length) {
            aeroi_buf_printf(out, ",length=%" PRIu64, effect->length);
        }
        else {
            aeroi_buf_printf(out, ",delta=%" PRId64, effect->delta);
        }
        break;
    case AEROS_FAULT_WRONG_RESULT:
        aeroi_buf_printf(out, ",result=%u", (unsigned)effect->result);
        if (effect->row >= 0) {
            aeroi_buf_printf(out, ",row=%" PRId64, effect->row);
        }
        else if (effect->row == AEROS_FAULT_ROW_ALL) {
            aeroi_buf_put_str(out, ",row=all");
        }
        break;
    case AEROS_FAULT_LOST_REPLY:
    case AEROS_FAULT_REFUSE:
        aeroi_buf_printf(out, ",how=%s", how_texts[effect->how]);
        break;
    case AEROS_FAULT_STALL:
    case AEROS_FAULT_RESET:
    case AEROS_FAULT_KINDS:
        break;
    }
    if (effect->kind == AEROS_FAULT_DELAY || effect->kind == AEROS_FAULT_RESET ||
        effect->kind == AEROS_FAULT_WRONG_RESULT) {
        aeroi_buf_printf(out, ",when=%s", effect->after ? "after" : "before");
    }
}

static void
fault_put(const aeros_fault *fault, aeroi_buf *out)
{
    aeroi_buf_printf(out, "id=%" PRIu32 ",kind=%s", fault->effect.id,
                     kind_texts[fault->effect.kind]);
    if (fault->of_node >= 0) {
        aeroi_buf_printf(out, ",node=%" PRId32, fault->of_node);
    }
    if (fault->effect.kind != AEROS_FAULT_REFUSE) {
        commands_put(fault, out);
    }
    if (fault->connection != 0) {
        aeroi_buf_printf(out, ",connection=%" PRIu64, fault->connection);
    }
    else if (fault->first_connection) {
        aeroi_buf_put_str(out, ",connection=first");
    }
    if (fault->ns[0] != '\0') {
        aeroi_buf_printf(out, ",namespace=%s", fault->ns);
    }
    if (fault->has_set) {
        aeroi_buf_printf(out, ",set=%s", fault->set);
    }
    effect_put(&fault->effect, out);
    if (fault->count != 0) {
        aeroi_buf_printf(out, ",count=%" PRIu64, fault->count);
    }
    if (fault->after_count != 0) {
        aeroi_buf_printf(out, ",after=%" PRIu64, fault->after_count);
    }
    if (fault->has_chance) {
        aeroi_buf_printf(out, ",probability=%g,seed=%" PRIu64, fault->chance,
                         fault->seed);
    }
    aeroi_buf_printf(out, ",matched=%" PRIu64 ",applied=%" PRIu64, fault->matched,
                     fault->applied);
}

void
aeros_faults_put(const aeros_faults *faults, aeroi_buf *out)
{
    for (aeroi_list *at = faults->list.next; at != &faults->list; at = at->next) {
        if (at != faults->list.next) {
            aeroi_buf_put_u8(out, ';');
        }
        fault_put(AEROI_CONTAINER(at, aeros_fault, node), out);
    }
}

/* Namespace and set of the first row of a batch, whose rows begin at `reader`. */
static void
row_classify(aeroi_reader *reader, aeros_fault_subject *out)
{
    uint8_t flags = 0;
    if (aeroi_reader_take(reader, 4 + 1 + ROW_HEAD_SIZE) == NULL ||
        !aeroi_reader_u8(reader, &flags) || (flags & AEROI_ROW_REPEAT) != 0) {
        return;
    }
    size_t skip = 1;
    skip += (flags & AEROI_ROW_INFO) != 0 ? 2 : 0;
    skip += (flags & AEROI_ROW_INFO4) != 0 ? 1 : 0;
    skip += (flags & AEROI_ROW_GENERATION) != 0 ? 2 : 0;
    skip += (flags & AEROI_ROW_TTL) != 0 ? 4 : 0;
    aeros_request row = {0};
    if (aeroi_reader_take(reader, skip) == NULL ||
        !aeroi_reader_be16(reader, &row.msg.n_fields) ||
        !aeroi_reader_be16(reader, &row.msg.n_ops) ||
        aeros_request_fields(reader, &row) != AERO_OK) {
        return;
    }
    out->ns = (aeroi_text){row.ns, row.ns_len};
    out->set = (aeroi_text){row.set, row.set_len};
}

static void
batch_classify(aeroi_reader *reader, const aeroi_msg *msg, aeros_fault_subject *out)
{
    out->command = AEROS_COMMAND_BATCH;
    for (uint32_t i = 0; i < msg->n_fields; i++) {
        const uint8_t *field = reader->next;
        if (aeroi_reader_left(reader) < FIELD_HEADER_SIZE) {
            return;
        }
        if (field[4] == AEROI_FIELD_BATCH || field[4] == AEROI_FIELD_BATCH_WITH_SET) {
            (void)aeroi_reader_take(reader, FIELD_HEADER_SIZE);
            row_classify(reader, out);
            return;
        }
        if (aeroi_reader_take(reader, 4 + (size_t)aeroi_load_be32(field)) == NULL) {
            return;
        }
    }
}

/* Plain reads have only READ ops, plain writes only WRITE ops. */
static bool
is_plain(const aeros_request *request, uint8_t plain_op)
{
    if ((request->msg.info2 & AEROI_INFO2_RESPOND_ALL_OPS) != 0) {
        return false;
    }
    aeroi_reader reader;
    aeroi_reader_init(&reader, request->ops, request->ops_len);
    aeroi_op op;
    while (aeroi_op_decode(&reader, &op) == AERO_OK) {
        if (op.type != plain_op) {
            return false;
        }
    }
    return true;
}

void
aeros_fault_classify(const uint8_t *body, size_t len, aeros_fault_subject *out)
{
    aeroi_reader reader;
    aeros_request request = {0};
    aeroi_reader_init(&reader, body, len);
    out->command = AEROS_COMMAND_OTHER;
    if (aeroi_msg_decode(&reader, &request.msg) != AERO_OK) {
        return;
    }
    if ((request.msg.info1 & AEROI_INFO1_BATCH) != 0) {
        batch_classify(&reader, &request.msg, out);
        return;
    }
    if (aeros_request_parse(body, len, &request) != AERO_OK) {
        return;
    }
    out->ns = (aeroi_text){request.ns, request.ns_len};
    out->set = (aeroi_text){request.set, request.set_len};
    if (request.digest == NULL) {
        return;
    }
    if ((request.msg.info2 & AEROI_INFO2_DELETE) != 0) {
        out->command = AEROS_COMMAND_DELETE;
    }
    else if ((request.msg.info2 & AEROI_INFO2_WRITE) != 0) {
        out->command = is_plain(&request, AERO_OP_WRITE) ? AEROS_COMMAND_WRITE
                                                         : AEROS_COMMAND_OPERATE;
    }
    else {
        out->command = is_plain(&request, AERO_OP_READ) ? AEROS_COMMAND_READ
                                                        : AEROS_COMMAND_OPERATE;
    }
}

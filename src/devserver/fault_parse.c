/* SPDX-License-Identifier: Apache-2.0 */
/* fault_parse - a fault from its text, "kind=delay;ms=100;command=read;node=1". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devserver/fault.h"
#include "devserver/suggest.h"

#define HOUR_MS 3600000u
#define TRICKLE_MS 10u
#define PROTO_LENGTH_MAX 0xffffffffffffu /* 48 bits */
#define DEFAULT_SEED 1u
#define CHANCE_TEXT_MAX 31

typedef struct parser {
    aeros_fault *fault;
    uint32_t node_count;
} parser;

#define KIND(name) (1u << AEROS_FAULT_##name)
#define REQUESTS (~KIND(REFUSE)) /* kinds that act on requests */
#define ALL (~0u)

static bool
number_take(aeroi_text text, uint64_t min, uint64_t max, uint64_t *out)
{
    return aeroi_text_u64(text, out) && *out >= min && *out <= max;
}

static bool
word_is(aeroi_text text, const char *word)
{
    return strlen(word) == text.len && memcmp(text.data, word, text.len) == 0;
}

static bool
node_take(parser *p, aeroi_text text)
{
    uint64_t number;
    if (!number_take(text, 0, p->node_count - 1, &number)) {
        return false;
    }
    p->fault->of_node = (int32_t)number;
    return true;
}

/* "read", or several: "read+write". */
static bool
command_take(parser *p, aeroi_text text)
{
    static const struct {
        const char *word;
        uint32_t bits;
    } words[] = {
        {"read", AEROS_COMMAND_READ},     {"write", AEROS_COMMAND_WRITE},
        {"delete", AEROS_COMMAND_DELETE}, {"operate", AEROS_COMMAND_OPERATE},
        {"batch", AEROS_COMMAND_BATCH},   {"info", AEROS_COMMAND_INFO},
        {"any", AEROS_COMMAND_ANY},
    };
    uint32_t bits = 0;
    const char *at = text.data;
    const char *end = at + text.len;
    while (at <= end) {
        const char *stop = memchr(at, '+', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        aeroi_text word = {at, (size_t)(stop - at)};
        uint32_t found = 0;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            found |= word_is(word, words[i].word) ? words[i].bits : 0;
        }
        if (found == 0) {
            return false;
        }
        bits |= found;
        at = stop + 1;
    }
    p->fault->commands = bits;
    return true;
}

static bool
connection_take(parser *p, aeroi_text text)
{
    p->fault->first_connection = word_is(text, "first");
    return p->fault->first_connection ||
           number_take(text, 1, UINT64_MAX, &p->fault->connection);
}

static bool
name_take(aeroi_text text, char *out, size_t max)
{
    if (text.len > max) {
        return false;
    }
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

static bool
namespace_take(parser *p, aeroi_text text)
{
    return text.len > 0 && name_take(text, p->fault->ns, AERO_NAMESPACE_MAX);
}

static bool
set_take(parser *p, aeroi_text text)
{
    p->fault->has_set = true;
    return name_take(text, p->fault->set, AERO_SET_MAX);
}

static bool
count_take(parser *p, aeroi_text text)
{
    return number_take(text, 1, UINT64_MAX, &p->fault->count);
}

static bool
after_take(parser *p, aeroi_text text)
{
    return number_take(text, 0, UINT64_MAX, &p->fault->after_count);
}

static bool
probability_take(parser *p, aeroi_text text)
{
    char copy[CHANCE_TEXT_MAX + 1];
    char *end = NULL;
    if (text.len == 0 || !name_take(text, copy, CHANCE_TEXT_MAX)) {
        return false;
    }
    p->fault->has_chance = true;
    p->fault->chance = strtod(copy, &end);
    return *end == '\0' && p->fault->chance >= 0 && p->fault->chance <= 1;
}

static bool
seed_take(parser *p, aeroi_text text)
{
    return number_take(text, 0, UINT64_MAX, &p->fault->seed);
}

static bool
when_take(parser *p, aeroi_text text)
{
    p->fault->effect.after = word_is(text, "after");
    return p->fault->effect.after || word_is(text, "before");
}

static bool
how_take(parser *p, aeroi_text text)
{
    aeros_fault_effect *effect = &p->fault->effect;
    if (word_is(text, "close")) {
        effect->how = AEROS_FAULT_HOW_CLOSE;
        return true;
    }
    if (word_is(text, "reset")) {
        effect->how = AEROS_FAULT_HOW_RESET;
        return true;
    }
    return word_is(text, effect->kind == AEROS_FAULT_REFUSE ? "refuse" : "silent");
}

static bool
ms_take(parser *p, aeroi_text text)
{
    uint64_t number;
    bool good = number_take(text, 0, HOUR_MS, &number);
    p->fault->effect.ms = good ? (uint32_t)number : 0;
    return good;
}

static bool
bytes_take(parser *p, aeroi_text text)
{
    uint64_t number;
    uint64_t min = p->fault->effect.kind == AEROS_FAULT_TRICKLE ? 1 : 0;
    bool good = number_take(text, min, AERO_FRAME_BODY_MAX, &number);
    p->fault->effect.bytes = good ? (uint32_t)number : 0;
    return good;
}

static bool
result_take(parser *p, aeroi_text text)
{
    uint64_t number;
    bool good = number_take(text, 0, UINT8_MAX, &number);
    p->fault->effect.result = good ? (uint8_t)number : 0;
    return good;
}

static bool
row_take(parser *p, aeroi_text text)
{
    uint64_t number;
    if (word_is(text, "all")) {
        p->fault->effect.row = AEROS_FAULT_ROW_ALL;
        return true;
    }
    bool good = number_take(text, 0, UINT32_MAX, &number);
    p->fault->effect.row = good ? (int64_t)number : 0;
    return good;
}

static bool
length_take(parser *p, aeroi_text text)
{
    p->fault->effect.has_length = true;
    return number_take(text, 0, PROTO_LENGTH_MAX, &p->fault->effect.length);
}

static bool
delta_take(parser *p, aeroi_text text)
{
    int64_t *delta = &p->fault->effect.delta;
    return aeroi_text_i64(text, delta) && *delta >= -(int64_t)PROTO_LENGTH_MAX &&
           *delta <= (int64_t)PROTO_LENGTH_MAX;
}

/* Keys beside `kind`, the kinds that have them, and those that must. */
static const struct {
    const char *name;
    bool (*take)(parser *p, aeroi_text text);
    uint32_t kinds;
    uint32_t needed;
} keys[] = {
    {"when", when_take, KIND(DELAY) | KIND(RESET) | KIND(WRONG_RESULT), 0},
    {"node", node_take, ALL, 0},
    {"command", command_take, REQUESTS, 0},
    {"connection", connection_take, REQUESTS, 0},
    {"namespace", namespace_take, REQUESTS, 0},
    {"set", set_take, REQUESTS, 0},
    {"count", count_take, ALL, 0},
    {"after", after_take, ALL, 0},
    {"probability", probability_take, ALL, 0},
    {"seed", seed_take, ALL, 0},
    {"how", how_take, KIND(LOST_REPLY) | KIND(REFUSE), 0},
    {"ms", ms_take, KIND(DELAY) | KIND(TRICKLE), KIND(DELAY)},
    {"bytes", bytes_take, KIND(TRICKLE) | KIND(TRUNCATE), KIND(TRUNCATE)},
    {"result", result_take, KIND(WRONG_RESULT), KIND(WRONG_RESULT)},
    {"row", row_take, KIND(WRONG_RESULT), 0},
    {"length", length_take, KIND(WRONG_LENGTH), 0},
    {"delta", delta_take, KIND(WRONG_LENGTH), 0},
};
#define WHEN_KEY 0 /* its index */
#define KEY_COUNT (sizeof keys / sizeof keys[0])

static bool
fail_near(char *error, const char *what, aeroi_text word, const char *near)
{
    (void)snprintf(error, AEROS_FAULT_ERROR_SIZE, "unknown %s '%.*s'%s%s%s", what,
                   (int)(word.len < 40 ? word.len : 40), word.data,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "");
    return false;
}

/* The next "key=value"; false at the end. A part without '=' has an empty value. */
static bool
pair_next(aeroi_text *rest, aeroi_text *key, aeroi_text *value)
{
    if (rest->len == 0) {
        return false;
    }
    const char *end = rest->data + rest->len;
    const char *stop = memchr(rest->data, ';', rest->len);
    stop = stop != NULL ? stop : end;
    const char *equals = memchr(rest->data, '=', (size_t)(stop - rest->data));
    key->data = rest->data;
    key->len = (size_t)((equals != NULL ? equals : stop) - rest->data);
    value->data = equals != NULL ? equals + 1 : stop;
    value->len = (size_t)(stop - value->data);
    rest->data = stop < end ? stop + 1 : end;
    rest->len = (size_t)(end - rest->data);
    return true;
}

static bool
kind_find(aeroi_text params, aeros_fault_kind *out, char *error)
{
    const char *words[AEROS_FAULT_KINDS];
    aeroi_text key;
    aeroi_text value;
    for (int i = 0; i < AEROS_FAULT_KINDS; i++) {
        words[i] = aeros_fault_kind_text((aeros_fault_kind)i);
    }
    while (pair_next(&params, &key, &value)) {
        if (!word_is(key, "kind")) {
            continue;
        }
        for (int i = 0; i < AEROS_FAULT_KINDS; i++) {
            if (word_is(value, words[i])) {
                *out = (aeros_fault_kind)i;
                return true;
            }
        }
        return fail_near(
            error, "kind", value,
            aeros_suggest(value.data, value.len, words, AEROS_FAULT_KINDS));
    }
    (void)snprintf(error, AEROS_FAULT_ERROR_SIZE, "missing 'kind'");
    return false;
}

static bool
pair_apply(parser *p, aeroi_text key, aeroi_text value, uint32_t *seen, char *error)
{
    const char *names[KEY_COUNT];
    aeros_fault_kind kind = p->fault->effect.kind;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].name;
        if (!word_is(key, keys[i].name)) {
            continue;
        }
        const char *wrong = NULL;
        if ((keys[i].kinds & 1u << kind) == 0) {
            wrong = "does not belong to";
        }
        else if ((*seen & 1u << i) != 0) {
            wrong = "is given twice for";
        }
        else if (!keys[i].take(p, value)) {
            wrong = "has a bad value for";
        }
        *seen |= 1u << i;
        if (wrong != NULL) {
            (void)snprintf(error, AEROS_FAULT_ERROR_SIZE, "'%s' %s kind %s",
                           keys[i].name, wrong, aeros_fault_kind_text(kind));
        }
        return wrong == NULL;
    }
    return fail_near(error, "key", key,
                     aeros_suggest(key.data, key.len, names, KEY_COUNT));
}

/* Rules about more than one key. */
static bool
fault_check(aeros_fault *fault, uint32_t seen, char *error)
{
    aeros_fault_effect *effect = &fault->effect;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if ((keys[i].needed & 1u << effect->kind) != 0 && (seen & 1u << i) == 0) {
            (void)snprintf(error, AEROS_FAULT_ERROR_SIZE, "missing '%s'", keys[i].name);
            return false;
        }
    }
    const char *text = NULL;
    if (effect->kind == AEROS_FAULT_REFUSE && effect->how == AEROS_FAULT_HOW_REFUSE &&
        (fault->count != 0 || fault->after_count != 0 || fault->has_chance)) {
        text = "a closed port counts nothing: how=reset or how=close do";
    }
    if (effect->row != AEROS_FAULT_ROW_NONE) {
        if ((seen & 1u << WHEN_KEY) != 0 && !effect->after) {
            text = "there are no rows when=before";
        }
        effect->after = true;
    }
    if (text != NULL) {
        (void)snprintf(error, AEROS_FAULT_ERROR_SIZE, "%s", text);
    }
    return text == NULL;
}

bool
aeros_fault_parse(aeroi_text params, uint32_t node_count, aeros_fault *out,
                  char error[AEROS_FAULT_ERROR_SIZE])
{
    *out = (aeros_fault){
        .of_node = -1,
        .commands = AEROS_COMMAND_ANY,
        .seed = DEFAULT_SEED,
        .effect = {.ms = TRICKLE_MS,
                   .bytes = 1,
                   .row = AEROS_FAULT_ROW_NONE,
                   .delta = 1},
    };
    if (!kind_find(params, &out->effect.kind, error)) {
        return false;
    }
    if (out->effect.kind == AEROS_FAULT_REFUSE) {
        out->effect.how = AEROS_FAULT_HOW_REFUSE;
    }
    parser p = {.fault = out, .node_count = node_count};
    uint32_t seen = 0;
    bool has_kind = false;
    aeroi_text key;
    aeroi_text value;
    while (pair_next(&params, &key, &value)) {
        if (word_is(key, "kind") && !has_kind) {
            has_kind = true;
        }
        else if (!pair_apply(&p, key, value, &seen, error)) {
            return false;
        }
    }
    out->random = out->seed;
    return fault_check(out, seen, error);
}

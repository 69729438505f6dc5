/* SPDX-License-Identifier: Apache-2.0 */
/* policy - dicts of policies and meta (section 6 of the API) into one aero_policy.
 *
 * One table says for each key what it sets. A key that applies to other kinds of calls
 * alone is checked and has no effect here, so that one dict may serve several calls; a
 * key that no call knows is an error. */
#include <stddef.h>
#include <string.h>

#include "call.h"

typedef enum setting_type {
    SETTING_UINT32,
    SETTING_BOOL,
    SETTING_IGNORED_UINT32, /* checked, without a meaning for this client */
    SETTING_CHOICE,         /* an int: `choice_set` knows each */
    SETTING_FILTER,
} setting_type;

typedef struct policy_setting {
    uint8_t name; /* aeropy_name */
    uint8_t type;
    uint16_t offset; /* in aero_policy */
} policy_setting;

#define KEY(name) AEROPY_NAME_##name
#define AT(member) offsetof(aero_policy, member)

static const policy_setting policy_settings[] = {
    {KEY(total_timeout), SETTING_UINT32, AT(total_timeout_ms)},
    {KEY(socket_timeout), SETTING_UINT32, AT(socket_timeout_ms)},
    {KEY(max_retries), SETTING_UINT32, AT(max_retries)},
    {KEY(sleep_between_retries), SETTING_UINT32, AT(sleep_between_retries_ms)},
    {KEY(timeout_delay), SETTING_IGNORED_UINT32, 0},
    {KEY(replica), SETTING_CHOICE, 0},
    {KEY(key), SETTING_CHOICE, 0},
    {KEY(exists), SETTING_CHOICE, 0},
    {KEY(gen), SETTING_CHOICE, 0},
    {KEY(ttl), SETTING_CHOICE, 0},
    {KEY(commit_level), SETTING_CHOICE, 0},
    {KEY(durable_delete), SETTING_BOOL, AT(durable_delete)},
    {KEY(read_mode_ap), SETTING_CHOICE, 0},
    {KEY(read_touch_ttl_percent), SETTING_CHOICE, 0},
    {KEY(allow_inline), SETTING_BOOL, AT(allow_inline)},
    {KEY(allow_inline_ssd), SETTING_BOOL, AT(allow_inline_ssd)},
    {KEY(allow_split), SETTING_BOOL, AT(allow_split)},
    {KEY(allow_all_bins), SETTING_BOOL, AT(allow_all_bins)},
    {KEY(auto_batch), SETTING_BOOL, AT(allow_merge)},
    {KEY(respond_all_keys), SETTING_BOOL, AT(respond_all_keys)},
    {KEY(concurrency), SETTING_CHOICE, 0},
    {KEY(filter_expression), SETTING_FILTER, 0},
};

/* `gen` of meta is a generation, that of a policy a way to compare. */
static const policy_setting meta_settings[] = {
    {KEY(gen), SETTING_UINT32, AT(generation)},
    {KEY(ttl), SETTING_CHOICE, 0},
    {KEY(key), SETTING_CHOICE, 0},
    {KEY(exists), SETTING_CHOICE, 0},
    {KEY(commit_level), SETTING_CHOICE, 0},
    {KEY(durable_delete), SETTING_BOOL, AT(durable_delete)},
};

static const policy_setting admin_settings[] = {
    {KEY(timeout), SETTING_UINT32, AT(total_timeout_ms)},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SETTINGS_MAX COUNT(policy_settings)

static int
ttl_set(aeropy_state *state, int64_t ttl, aero_policy *policy)
{
    if (ttl == -1) {
        policy->ttl = AERO_TTL_NEVER;
    }
    else if (ttl == -2) {
        policy->ttl = AERO_TTL_DONT_UPDATE;
    }
    else if (ttl == -3) {
        policy->ttl = AERO_TTL_NAMESPACE_DEFAULT;
    }
    else if (ttl >= 0 && ttl <= UINT32_MAX) {
        policy->ttl = (uint32_t)ttl;
    }
    else {
        return aeropy_raise_invalid(state, "ttl out of range: %lld", (long long)ttl);
    }
    return 0;
}

/* Values that are not known count as the default, as in the peer. */
static int
choice_set(aeropy_state *state, uint8_t name, int64_t value, aero_policy *policy)
{
    switch (name) {
    case KEY(replica):
        policy->replica = value == AERO_REPLICA_MASTER        ? AERO_REPLICA_MASTER
                          : value == AERO_REPLICA_PREFER_RACK ? AERO_REPLICA_PREFER_RACK
                                                              : AERO_REPLICA_SEQUENCE;
        return 0;
    case KEY(key):
        policy->send_key = value == 1;
        return 0;
    case KEY(exists):
        policy->exists = value >= AERO_EXISTS_IGNORE && value <= AERO_EXISTS_CREATE_ONLY
                             ? (aero_exists_action)value
                             : AERO_EXISTS_IGNORE;
        return 0;
    case KEY(gen):
        policy->generation_mode = value == AERO_GENERATION_EQUAL ? AERO_GENERATION_EQUAL
                                  : value == AERO_GENERATION_GREATER
                                      ? AERO_GENERATION_GREATER
                                      : AERO_GENERATION_IGNORE;
        return 0;
    case KEY(ttl):
        return ttl_set(state, value, policy);
    case KEY(commit_level):
        policy->commit_master = value == 1;
        return 0;
    case KEY(read_mode_ap):
        policy->read_mode_ap_all = value == 1;
        return 0;
    case KEY(read_touch_ttl_percent):
        if (value < -1 || value > 100) {
            return aeropy_raise_invalid(
                state, "read_touch_ttl_percent must be 0, -1 or 1..100, got %lld",
                (long long)value);
        }
        policy->read_touch_ttl_percent = (int32_t)value;
        return 0;
    case KEY(concurrency):
        if (value != 0 && value != 1) {
            PyErr_Format(PyExc_ValueError, "Invalid concurrency value: %lld",
                         (long long)value);
            return -1;
        }
        return 0;
    default:
        return 0;
    }
}

static int
setting_apply(aeropy_state *state, const policy_setting *setting, PyObject *value,
              aero_policy *policy)
{
    const char *name = PyUnicode_AsUTF8(state->names[setting->name]);
    char *member = (char *)policy + setting->offset;
    uint64_t number;
    int64_t choice;

    if (name == NULL) {
        return -1;
    }
    switch ((setting_type)setting->type) {
    case SETTING_UINT32:
        if (aeropy_uint(value, name, UINT32_MAX, &number) < 0) {
            return -1;
        }
        *(uint32_t *)(void *)member = (uint32_t)number;
        return 0;
    case SETTING_IGNORED_UINT32:
        return aeropy_uint(value, name, UINT32_MAX, &number);
    case SETTING_BOOL:
        return aeropy_bool(value, name, (bool *)member);
    case SETTING_CHOICE:
        if (aeropy_int64(value, name, &choice) < 0) {
            return -1;
        }
        return choice_set(state, setting->name, choice, policy);
    case SETTING_FILTER:
        if (value != Py_None) {
            aeropy_raise_client_error(
                state, "filter_expression is not available in this release");
            return -1;
        }
        return 0;
    }
    return 0;
}

static const policy_setting *
find_setting(aeropy_state *state, const policy_setting *settings, size_t count,
             PyObject *key)
{
    for (size_t i = 0; i < count; i++) {
        if (state->names[settings[i].name] == key) {
            return &settings[i];
        }
    }
    if (!PyUnicode_Check(key)) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (PyUnicode_Compare(state->names[settings[i].name], key) == 0) {
            return &settings[i];
        }
    }
    return NULL;
}

static int
unknown_setting(aeropy_state *state, const char *what, const policy_setting *settings,
                size_t count, PyObject *key)
{
    uint8_t names[SETTINGS_MAX];
    for (size_t i = 0; i < count; i++) {
        names[i] = settings[i].name;
    }
    return aeropy_unknown_key(state, what, key, names, count);
}

static int
apply_dict(aeropy_state *state, const char *what, const policy_setting *settings,
           size_t count, PyObject *dict, aero_policy *policy)
{
    if (!PyDict_Check(dict)) {
        PyErr_Format(PyExc_TypeError, "%s must be a dict or None, got %.200s", what,
                     Py_TYPE(dict)->tp_name);
        return -1;
    }
    /* An error that looks up the nearest name runs Python code, and ends the loop. */
    int result = 0;
    Py_BEGIN_CRITICAL_SECTION(dict);
    Py_ssize_t position = 0;
    PyObject *key;
    PyObject *value;
    while (result == 0 && PyDict_Next(dict, &position, &key, &value)) {
        const policy_setting *setting = find_setting(state, settings, count, key);
        if (setting != NULL) {
            result = setting_apply(state, setting, value, policy);
        }
        else {
            result = unknown_setting(state, what, settings, count, key);
        }
    }
    Py_END_CRITICAL_SECTION();
    return result;
}

int
aeropy_meta_in(aeropy_state *state, PyObject *meta, aero_policy *policy)
{
    if (meta == NULL || meta == Py_None) {
        return 0;
    }
    if (apply_dict(state, "meta", meta_settings, COUNT(meta_settings), meta, policy) <
        0) {
        return -1;
    }
    /* An expected generation means that it is compared. */
    int has_gen = PyDict_Contains(meta, AEROPY_NAME(state, gen));
    if (has_gen < 0) {
        return -1;
    }
    if (has_gen) {
        policy->generation_mode = AERO_GENERATION_EQUAL;
    }
    return 0;
}

int
aeropy_call_meta(aeropy_call *call, PyObject *meta)
{
    return aeropy_meta_in(call->state, meta, &call->request.policy);
}

int
aeropy_call_policy(aeropy_call *call, PyObject *policy, aeropy_policy_kind kind)
{
    aero_policy *native = &call->request.policy;
    if (policy != NULL && policy != Py_None) {
        int result = kind == AEROPY_POLICY_ADMIN
                         ? apply_dict(call->state, "policy", admin_settings,
                                      COUNT(admin_settings), policy, native)
                         : apply_dict(call->state, "policy", policy_settings,
                                      COUNT(policy_settings), policy, native);
        if (result < 0) {
            return -1;
        }
    }
    if (kind == AEROPY_POLICY_ADMIN && native->total_timeout_ms == 0) {
        native->total_timeout_ms = 3000; /* 0 means the default, section 6.6 */
    }
    aero_error error;
    memset(&error, 0, sizeof(error));
    aero_status status = aero_policy_check(native, &error);
    if (status != AERO_OK) {
        aeropy_raise(call->state, status, &error);
        return -1;
    }
    return 0;
}

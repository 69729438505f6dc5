/* SPDX-License-Identifier: Apache-2.0 */
/* info_data - commands that change data, and those of features that this server has not
 * (indexes, modules, queries): they tell what is true of a server without any. */
#include "base/clock.h"
#include "devserver/info.h"
#include "devserver/server.h"

#define NS_PER_SECOND 1000000000u

/* Text of a number of any length: true when it is one, and its value, saturated. */
static bool
lut_parse(aeroi_text text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        *out = *out > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *out * 10 + digit;
    }
    return text.len > 0;
}

/* The time before which records go, or 0 after an error was answered. */
static uint64_t
truncate_time(aeros_info *info)
{
    aeroi_text text;
    aeros_server_tick(info->server);
    uint64_t now_ns = info->server->exec.now_ns;
    if (!aeros_info_param(info, "lut", &text)) {
        return now_ns;
    }
    uint64_t lut_ns = 0;
    bool negative = text.len > 1 && text.data[0] == '-';
    if (negative || (lut_parse(text, &lut_ns) && lut_ns > now_ns)) {
        aeros_info_error(info, AERO_SERVER_PARAM, "would truncate in the future");
        return 0;
    }
    if (lut_ns / NS_PER_SECOND <= AEROI_EPOCH_UNIX_SECONDS) {
        aeros_info_error(info, AERO_SERVER_PARAM, "would truncate to 0");
        return 0;
    }
    return lut_ns;
}

/* Namespace of a truncate; false after an error was answered. */
static bool
truncate_namespace(aeros_info *info, int *out_ns)
{
    aeroi_text text;
    if (!aeros_info_param(info, "namespace", &text) || text.len == 0) {
        aeros_info_missing(info, AERO_INVALID_NAMESPACE, "namespace");
        return false;
    }
    *out_ns = aeros_info_namespace(info, text);
    return true;
}

static bool
truncate_set(aeros_info *info, aeroi_text *out_set)
{
    if (!aeros_info_param(info, "set", out_set) || out_set->len == 0) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "set");
        return false;
    }
    if (out_set->len > AERO_SET_MAX) {
        aeros_info_error(info, AERO_SERVER_PARAM, "'set' value too long");
        return false;
    }
    return true;
}

static void
answer_truncate(aeros_info *info)
{
    int ns = -1;
    aeroi_text set;
    if (!truncate_namespace(info, &ns) || !truncate_set(info, &set)) {
        return;
    }
    uint64_t lut_ns = truncate_time(info);
    if (lut_ns == 0) {
        return;
    }
    if (ns >= 0) {
        aeros_server_truncate(info->server, (uint32_t)ns, set.data, set.len, lut_ns);
    }
    aeros_info_ok(info); /* also for a namespace that is not there */
}

static void
answer_truncate_namespace(aeros_info *info)
{
    int ns = -1;
    if (!truncate_namespace(info, &ns)) {
        return;
    }
    uint64_t lut_ns = truncate_time(info);
    if (lut_ns == 0) {
        return;
    }
    if (ns >= 0) {
        aeros_server_truncate(info->server, (uint32_t)ns, NULL, 0, lut_ns);
    }
    aeros_info_ok(info);
}

/* Forgets the time of a truncate; what it removed stays removed. */
static void
answer_truncate_undo(aeros_info *info)
{
    int ns = -1;
    aeroi_text set;
    if (!truncate_namespace(info, &ns) || !truncate_set(info, &set)) {
        return;
    }
    for (uint32_t i = 0; ns >= 0 && i < info->server->config.node_count; i++) {
        aeros_store *store = &info->server->nodes[i].stores[ns];
        aeros_set *found =
            aeros_store_set(store, aeros_store_set_find(store, set.data, set.len));
        if (found != NULL) {
            found->truncate_lut_ns = 0;
        }
    }
    aeros_info_ok(info);
}

static void
answer_truncate_namespace_undo(aeros_info *info)
{
    int ns = -1;
    if (!truncate_namespace(info, &ns)) {
        return;
    }
    for (uint32_t i = 0; ns >= 0 && i < info->server->config.node_count; i++) {
        info->server->nodes[i].stores[ns].truncate_lut_ns = 0;
    }
    aeros_info_ok(info);
}

/* Names an index and its namespace; false after the errors were answered, one after the
 * other without a separator. */
static bool
index_named(aeros_info *info)
{
    aeroi_text text;
    bool name = aeros_info_param(info, "indexname", &text);
    bool ns = aeros_info_param_or(info, "namespace", "ns", &text);
    if (!name) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "indexname");
    }
    if (!ns) {
        aeros_info_missing(info, AERO_INVALID_NAMESPACE, "namespace");
    }
    return name && ns;
}

static void
answer_index_create(aeros_info *info)
{
    aeroi_text text;
    if (!aeros_info_param(info, "indexname", &text)) {
        aeros_info_missing(info, AERO_SERVER_PARAM, "indexname");
        return;
    }
    aeros_info_error(info, AERO_UNSUPPORTED_FEATURE,
                     "this server has no secondary indexes");
}

static void
answer_index_delete(aeros_info *info)
{
    if (index_named(info)) {
        aeros_info_ok(info); /* also when it is not there */
    }
}

static void
answer_index_exists(aeros_info *info)
{
    if (index_named(info)) {
        aeroi_buf_put_str(info->out, "false");
    }
}

static void
answer_index_list(aeros_info *info)
{
    static const char error[] = "ERROR:20:namespace not found on node";
    aeroi_text text;
    if (aeros_info_param_or(info, "namespace", "ns", &text) &&
        aeros_info_namespace(info, text) < 0) {
        aeroi_buf_printf(info->out, "%s;%s", error, error); /* twice (observed) */
    }
}

static void
answer_index_stat(aeros_info *info)
{
    if (info->params.len > 0) {
        aeros_info_error(info, AERO_INDEX_NOT_FOUND, "no index");
    }
}

static bool
module_named(aeros_info *info)
{
    aeroi_text text;
    if (aeros_info_param(info, "filename", &text) && text.len > 0) {
        return true;
    }
    aeroi_buf_put_str(info->out, "error=invalid_filename");
    return false;
}

static void
answer_module_get(aeros_info *info)
{
    if (module_named(info)) {
        aeroi_buf_put_str(info->out, "error=not_found");
    }
}

static void
answer_module_remove(aeros_info *info)
{
    if (module_named(info)) {
        aeros_info_ok(info); /* also when it is not there */
    }
}

static void
answer_module_put(aeros_info *info)
{
    aeroi_text text;
    if (!module_named(info)) {
        return;
    }
    if (!aeros_info_param(info, "content-len", &text)) {
        aeroi_buf_put_str(info->out, "error=invalid_content_len");
        return;
    }
    aeros_info_error(info, AERO_UNSUPPORTED_FEATURE, "this server executes no modules");
}

static bool
query_named(const aeros_info *info)
{
    aeroi_text text;
    return aeros_info_param_or(info, "trid", "id", &text);
}

static void
answer_query_show(aeros_info *info)
{
    if (query_named(info)) {
        aeros_info_error(info, AERO_RECORD_NOT_FOUND, "job not found");
    }
}

static void
answer_query_abort(aeros_info *info)
{
    if (query_named(info)) {
        aeros_info_error(info, AERO_RECORD_NOT_FOUND, "id not active");
    }
    else {
        aeros_info_missing(info, AERO_SERVER_PARAM, "id");
    }
}

static void
answer_query_abort_all(aeros_info *info)
{
    aeroi_buf_put_str(info->out, "number-of-queries-killed:0");
}

static void
answer_nothing(aeros_info *info)
{
    (void)info;
}

const aeros_info_command aeros_info_data_commands[] = {
    {"truncate", answer_truncate},
    {"truncate-undo", answer_truncate_undo},
    {"truncate-namespace", answer_truncate_namespace},
    {"truncate-namespace-undo", answer_truncate_namespace_undo},
    {"sindex-create", answer_index_create},
    {"sindex-delete", answer_index_delete},
    {"sindex-exists", answer_index_exists},
    {"sindex-list", answer_index_list},
    {"sindex-stat", answer_index_stat},
    {"sindex", answer_index_stat},
    {"udf-list", answer_nothing},
    {"udf-get", answer_module_get},
    {"udf-put", answer_module_put},
    {"udf-remove", answer_module_remove},
    {"query-show", answer_query_show},
    {"query-abort", answer_query_abort},
    {"query-abort-all", answer_query_abort_all},
    {NULL, NULL},
};

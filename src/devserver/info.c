/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/info.h"

#include <string.h>

#include "devserver/server.h"

bool
aeros_text_is(aeroi_text text, const char *word)
{
    return strlen(word) == text.len && memcmp(text.data, word, text.len) == 0;
}

bool
aeros_info_param(const aeros_info *info, const char *key, aeroi_text *out)
{
    size_t key_len = strlen(key);
    const char *at = info->params.data;
    const char *end = at + info->params.len;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        if (stop == NULL) {
            stop = end;
        }
        size_t len = (size_t)(stop - at);
        if (len > key_len && at[key_len] == '=' && memcmp(at, key, key_len) == 0) {
            out->data = at + key_len + 1;
            out->len = len - key_len - 1;
            return true;
        }
        at = stop + 1;
    }
    return false;
}

bool
aeros_info_param_or(const aeros_info *info, const char *key, const char *other,
                    aeroi_text *out)
{
    return aeros_info_param(info, key, out) || aeros_info_param(info, other, out);
}

void
aeros_info_error(aeros_info *info, aero_status code, const char *text)
{
    aeroi_buf_printf(info->out, "ERROR:%d:%s", (int)code, text);
}

void
aeros_info_missing(aeros_info *info, aero_status code, const char *key)
{
    aeroi_buf_printf(info->out, "ERROR:%d:missing '%s'", (int)code, key);
}

void
aeros_info_ok(aeros_info *info)
{
    aeroi_buf_put_str(info->out, "ok");
}

int
aeros_info_namespace(const aeros_info *info, aeroi_text name)
{
    return aeros_server_namespace(info->server, name.data, name.len);
}

static const aeros_info_command *
command_find(aeroi_text name)
{
    const aeros_info_command *const tables[] = {
        aeros_info_cluster_commands, aeros_info_data_commands,
        aeros_info_stat_commands,    aeros_info_control_commands,
        aeros_info_fault_commands,
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const aeros_info_command *at = tables[i]; at->name != NULL; at++) {
            if (aeros_text_is(name, at->name)) {
                return at;
            }
        }
    }
    return NULL;
}

/* One line: the command as it was sent, a tab, the value. */
static void
line_answer(aeros_conn *conn, const char *line, size_t len, aeroi_buf *out)
{
    /* The server reads it as a C string. */
    len = strnlen(line, len);
    aeroi_text name = {line, len};
    aeros_info info = {
        .conn = conn,
        .node = conn->node,
        .server = conn->node->server,
        .params = {line + len, 0},
        .out = out,
    };
    for (size_t i = 0; i < len; i++) {
        if (line[i] == ':' || line[i] == '/') {
            name.len = i;
            info.params.data = line + i + 1;
            info.params.len = len - i - 1;
            info.by_slash = line[i] == '/';
            break;
        }
    }
    aeroi_buf_put(out, line, len);
    aeroi_buf_put_u8(out, '\t');
    const aeros_info_command *command = command_find(name);
    if (command != NULL) {
        command->answer(&info);
    }
    else {
        aeros_info_error(&info, AERO_SERVER_PARAM, "unrecognized command");
    }
    aeroi_buf_put_u8(out, '\n');
}

void
aeros_info_answer(aeros_conn *conn, const char *body, size_t len, aeroi_buf *out)
{
    /* What the server tells one who asks nothing; deprecated. */
    static const char summary[] =
        "features\nnode\ncompatibility-id\nedition\nbuild_ee_sha\nbuild_sha\n"
        "build_arch\nbuild_time\nbuild_os\nbuild\nversion\nstatistics\n"
        "partition-generation\nservices\nstatus\n";
    if (len == 0) {
        body = summary;
        len = sizeof summary - 1;
    }
    const char *end = body + len;
    while (body < end) {
        const char *stop = memchr(body, '\n', (size_t)(end - body));
        if (stop == NULL) {
            return; /* a last line without its end is not answered */
        }
        line_answer(conn, body, (size_t)(stop - body), out);
        body = stop + 1;
    }
}

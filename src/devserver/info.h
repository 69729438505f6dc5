/* SPDX-License-Identifier: Apache-2.0 */
/* info - answers to info commands (03): the lines, and the table of commands.
 *
 * Thread: the server's loop. */
#ifndef AERO_SRC_DEVSERVER_INFO_H
#define AERO_SRC_DEVSERVER_INFO_H

#include "devserver/conn.h"
#include "wire/info.h"

/* Answers all commands of a body into `out`. */
void aeros_info_answer(aeros_conn *conn, const char *body, size_t len, aeroi_buf *out);

/* One command. */
typedef struct aeros_info {
    aeros_conn *conn;
    aeros_node *node;
    aeros_server *server;
    aeroi_text params; /* behind ':' or '/'; empty when there is none */
    bool by_slash;     /* they came behind '/' */
    aeroi_buf *out;    /* where the value goes */
} aeros_info;

typedef struct aeros_info_command {
    const char *name;
    void (*answer)(aeros_info *info);
} aeros_info_command;

/* Tables of the other files, each ended by a NULL name. */
extern const aeros_info_command aeros_info_cluster_commands[];
extern const aeros_info_command aeros_info_data_commands[];
extern const aeros_info_command aeros_info_stat_commands[];
extern const aeros_info_command aeros_info_control_commands[];
extern const aeros_info_command aeros_info_fault_commands[];

/* "key=value;key=value": the value of a key; false when it is not there. */
bool aeros_info_param(const aeros_info *info, const char *key, aeroi_text *out);
/* The same with two spellings. */
bool aeros_info_param_or(const aeros_info *info, const char *key, const char *other,
                         aeroi_text *out);
/* "ERROR:<code>:<text>" */
void aeros_info_error(aeros_info *info, aero_status code, const char *text);
/* "ERROR:<code>:missing '<key>'" */
void aeros_info_missing(aeros_info *info, aero_status code, const char *key);
void aeros_info_ok(aeros_info *info);
bool aeros_text_is(aeroi_text text, const char *word);
/* Index of the namespace that a parameter names, or -1. */
int aeros_info_namespace(const aeros_info *info, aeroi_text name);

#endif

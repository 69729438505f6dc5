/* SPDX-License-Identifier: Apache-2.0 */
/* commands - the table of commands. X(name) makes both a row and a method. */
#ifndef AEROPY_COMMANDS_H
#define AEROPY_COMMANDS_H

#include "call.h"

#define AEROPY_COMMANDS(X) \
    X(connect)             \
    X(close)               \
    X(put)                 \
    X(get)                 \
    X(select)              \
    X(exists)              \
    X(remove)              \
    X(touch)               \
    X(append)              \
    X(prepend)             \
    X(increment)           \
    X(remove_bin)          \
    X(operate)             \
    X(operate_ordered)     \
    X(batch_read)          \
    X(batch_write)         \
    X(batch_write_numpy)   \
    X(batch_operate)       \
    X(batch_remove)        \
    X(info_all)            \
    X(info_random_node)    \
    X(ping)

#define AEROPY_COMMAND_EXTERN_(name) extern const aeropy_command aeropy_command_##name;
AEROPY_COMMANDS(AEROPY_COMMAND_EXTERN_)
#undef AEROPY_COMMAND_EXTERN_
extern const aeropy_command aeropy_command_exit;   /* __exit__, __aexit__ */
extern const aeropy_command aeropy_command_aenter; /* __aenter__ */

/* results.c: conversions of answers. */
PyObject *aeropy_result_none(const aeropy_reply *reply);
PyObject *aeropy_result_false(const aeropy_reply *reply);
PyObject *aeropy_result_client(const aeropy_reply *reply);
PyObject *aeropy_result_record(const aeropy_reply *reply);
PyObject *aeropy_result_exists(const aeropy_reply *reply);
PyObject *aeropy_result_ping(const aeropy_reply *reply);
PyObject *aeropy_result_info_all(const aeropy_reply *reply);
PyObject *aeropy_result_info_text(const aeropy_reply *reply);
PyObject *aeropy_result_operate(const aeropy_reply *reply); /* operate.c */
PyObject *aeropy_result_ordered(const aeropy_reply *reply);
PyObject *aeropy_result_batch(const aeropy_reply *reply); /* batch.c */
PyObject *aeropy_result_batch_write(
    const aeropy_reply *reply); /* this and the next two: batch_result.c */
PyObject *aeropy_result_batch_operate(const aeropy_reply *reply);
/* True when rows of a batch have an answer, whatever became of the call. */
bool aeropy_reply_has_rows(const aeropy_reply *reply);

#endif

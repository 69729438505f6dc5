/* SPDX-License-Identifier: Apache-2.0 */
/* status - what a call returns, and the details of an error.
 *
 * 0 is success. A positive status is the result byte of the server, unchanged
 * (server 8.1.2, proto.h). A negative status is ours. After a status at or below
 * AERO_ERR_FATAL the object may only be freed. */
#ifndef AEROLOOP_STATUS_H
#define AEROLOOP_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aeroloop/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t aero_status;

/* What a retry may do with a failed attempt. Source: client-c 7.5 as_command_execute.
 */
typedef enum aero_retry_class {
    AERO_RETRY_NEVER = 0,   /* the answer is final */
    AERO_RETRY_SAME = 1,    /* try again; writes stay on their replica */
    AERO_RETRY_REPLICA = 2, /* try again on the next replica */
} aero_retry_class;

/* X(name, value, text, retry class, Python exception) */
#define AERO_STATUS_MAP(X)                                                             \
    X(AERO_OK, 0, "ok", NEVER, ClientError)                                            \
    X(AERO_SERVER_UNKNOWN, 1, "unknown server error", NEVER, ServerError)              \
    X(AERO_RECORD_NOT_FOUND, 2, "record not found", NEVER, RecordNotFound)             \
    X(AERO_RECORD_GENERATION, 3, "record generation mismatch", NEVER,                  \
      RecordGenerationError)                                                           \
    X(AERO_SERVER_PARAM, 4, "the server refused a parameter", NEVER, ServerError)      \
    X(AERO_RECORD_EXISTS, 5, "record exists", NEVER, RecordExistsError)                \
    X(AERO_BIN_EXISTS, 6, "bin exists", NEVER, BinExistsError)                         \
    X(AERO_CLUSTER_KEY_MISMATCH, 7, "cluster key mismatch", NEVER, ServerError)        \
    X(AERO_SERVER_MEMORY, 8, "server out of space", NEVER, ServerError)                \
    X(AERO_SERVER_TIMEOUT, 9, "server time-out", SAME, AerospikeTimeoutError)          \
    X(AERO_ALWAYS_FORBIDDEN, 10, "always forbidden", NEVER, ServerError)               \
    X(AERO_PARTITION_UNAVAILABLE, 11, "partition unavailable", REPLICA, ServerError)   \
    X(AERO_BIN_TYPE, 12, "bin type mismatch", NEVER, BinTypeError)                     \
    X(AERO_RECORD_TOO_BIG, 13, "record too big", NEVER, RecordTooBig)                  \
    X(AERO_KEY_BUSY, 14, "key busy", NEVER, ServerError)                               \
    X(AERO_QUERY_ABORT, 15, "query aborted", NEVER, QueryAbortedError)                 \
    X(AERO_UNSUPPORTED_FEATURE, 16, "unsupported feature", NEVER, ServerError)         \
    X(AERO_BIN_NOT_FOUND, 17, "bin not found", NEVER, BinNotFound)                     \
    X(AERO_DEVICE_OVERLOAD, 18, "device overload", REPLICA, ServerError)               \
    X(AERO_KEY_MISMATCH, 19, "key mismatch", NEVER, ServerError)                       \
    X(AERO_INVALID_NAMESPACE, 20, "invalid namespace", NEVER, ServerError)             \
    X(AERO_BIN_NAME, 21, "bin name invalid or too long", NEVER, BinNameError)          \
    X(AERO_FORBIDDEN, 22, "operation forbidden", NEVER, ServerError)                   \
    X(AERO_ELEMENT_NOT_FOUND, 23, "element not found", NEVER, RecordError)             \
    X(AERO_ELEMENT_EXISTS, 24, "element exists", NEVER, RecordError)                   \
    X(AERO_ENTERPRISE_ONLY, 25, "enterprise edition only", NEVER, ServerError)         \
    X(AERO_OP_NOT_APPLICABLE, 26, "operation not applicable", NEVER, ServerError)      \
    X(AERO_FILTERED_OUT, 27, "filtered out", NEVER, FilteredOut)                       \
    X(AERO_LOST_CONFLICT, 28, "lost conflict", NEVER, ServerError)                     \
    X(AERO_XDR_KEY_BUSY, 32, "XDR key busy", NEVER, ServerError)                       \
    X(AERO_QUERY_END, 50, "query end", NEVER, ServerError)                             \
    X(AERO_SECURITY_NOT_SUPPORTED, 51, "security not supported", NEVER, AdminError)    \
    X(AERO_SECURITY_NOT_ENABLED, 52, "security not enabled", NEVER, AdminError)        \
    X(AERO_SECURITY_SCHEME, 53, "security scheme not supported", NEVER, AdminError)    \
    X(AERO_INVALID_COMMAND, 54, "invalid security command", NEVER, AdminError)         \
    X(AERO_INVALID_FIELD, 55, "invalid security field", NEVER, AdminError)             \
    X(AERO_ILLEGAL_STATE, 56, "illegal security state", NEVER, AdminError)             \
    X(AERO_INVALID_USER, 60, "invalid user", NEVER, AdminError)                        \
    X(AERO_USER_EXISTS, 61, "user exists", NEVER, AdminError)                          \
    X(AERO_INVALID_PASSWORD, 62, "invalid password", NEVER, AdminError)                \
    X(AERO_EXPIRED_PASSWORD, 63, "expired password", NEVER, AdminError)                \
    X(AERO_FORBIDDEN_PASSWORD, 64, "forbidden password", NEVER, AdminError)            \
    X(AERO_INVALID_CREDENTIAL, 65, "invalid credential", NEVER, AdminError)            \
    X(AERO_EXPIRED_SESSION, 66, "expired session", NEVER, AdminError)                  \
    X(AERO_INVALID_ROLE, 70, "invalid role", NEVER, AdminError)                        \
    X(AERO_ROLE_EXISTS, 71, "role exists", NEVER, AdminError)                          \
    X(AERO_INVALID_PRIVILEGE, 72, "invalid privilege", NEVER, AdminError)              \
    X(AERO_INVALID_ALLOWLIST, 73, "invalid allow list", NEVER, AdminError)             \
    X(AERO_QUOTAS_NOT_ENABLED, 74, "quotas not enabled", NEVER, AdminError)            \
    X(AERO_INVALID_QUOTA, 75, "invalid quota", NEVER, AdminError)                      \
    X(AERO_NOT_AUTHENTICATED, 80, "not authenticated", NEVER, AdminError)              \
    X(AERO_ROLE_VIOLATION, 81, "role violation", NEVER, AdminError)                    \
    X(AERO_NOT_ALLOWLISTED, 82, "address not on the allow list", NEVER, AdminError)    \
    X(AERO_QUOTA_EXCEEDED, 83, "quota exceeded", NEVER, AdminError)                    \
    X(AERO_UDF_FAILED, 100, "UDF failed", NEVER, UDFError)                             \
    X(AERO_BATCH_DISABLED, 150, "batch disabled", NEVER, ServerError)                  \
    X(AERO_BATCH_MAX_REQUESTS, 151, "too many rows in a batch", NEVER, ServerError)    \
    X(AERO_BATCH_QUEUES_FULL, 152, "batch queues full", NEVER, ServerError)            \
    X(AERO_INVALID_GEOJSON, 160, "invalid GeoJSON", NEVER, ServerError)                \
    X(AERO_INDEX_FOUND, 200, "index exists", NEVER, IndexFoundError)                   \
    X(AERO_INDEX_NOT_FOUND, 201, "index not found", NEVER, IndexNotFound)              \
    X(AERO_INDEX_NOT_READABLE, 203, "index not readable", NEVER, ServerError)          \
    X(AERO_INDEX_MAX_COUNT, 206, "too many indexes", NEVER, ServerError)               \
    X(AERO_SERVER_QUERY_ABORTED, 210, "query aborted", NEVER, QueryAbortedError)       \
    X(AERO_SERVER_QUERY_TIMEOUT, 212, "query time-out", NEVER, AerospikeTimeoutError)  \
    X(AERO_ERR_CLIENT, -1, "client error", NEVER, ClientError)                         \
    X(AERO_ERR_ARGUMENT, -2, "invalid argument", NEVER, InvalidArgError)               \
    X(AERO_ERR_RANGE, -3, "value out of range", NEVER, InvalidArgError)                \
    X(AERO_ERR_INVALID_HOST, -4, "host cannot be resolved", NEVER, ClusterError)       \
    X(AERO_ERR_CANCELLED, -5, "cancelled", NEVER, ClientError)                         \
    X(AERO_ERR_INTERRUPTED, -6, "interrupted", NEVER, ClientError)                     \
    X(AERO_ERR_NO_CONNECTION, -7, "no more connections available", SAME, ClusterError) \
    X(AERO_ERR_NO_NODE, -8, "no node for the partition", SAME, ClusterError)           \
    X(AERO_ERR_TLS, -9, "TLS error", NEVER, ClusterError)                              \
    X(AERO_ERR_CONNECTION, -10, "connection error", REPLICA, ClusterError)             \
    X(AERO_ERR_CLUSTER, -11, "cannot reach the cluster", NEVER, ClusterError)          \
    X(AERO_ERR_BACKPRESSURE, -12, "operation queue time-out", NEVER,                   \
      BackpressureError)                                                               \
    X(AERO_ERR_TIMEOUT, -13, "client time-out", REPLICA, AerospikeTimeoutError)        \
    X(AERO_ERR_MAX_ERROR_RATE, -14, "node circuit breaker tripped", SAME,              \
      ClusterError)                                                                    \
    X(AERO_ERR_NO_RESPONSE, -15, "no answer for this key", NEVER, ClientError)         \
    X(AERO_ERR_NOT_CONNECTED, -20, "not connected", NEVER, ClientError)                \
    X(AERO_ERR_STATE, -21, "wrong state", NEVER, ClientError)                          \
    X(AERO_ERR_PROTOCOL, -22, "the server sent bytes that break the protocol",         \
      REPLICA, ClusterError)                                                           \
    X(AERO_ERR_TOO_DEEP, -23, "nested too deeply", NEVER, ClientError)                 \
    X(AERO_ERR_TOO_BIG, -24, "larger than the protocol allows", NEVER,                 \
      InvalidArgError)                                                                 \
    X(AERO_ERR_END, -25, "no more elements", NEVER, ClientError)                       \
    X(AERO_ERR_TYPE, -26, "a value does not fit the column", NEVER, ClientError)       \
    X(AERO_ERR_SYSTEM, -27, "system call failed", NEVER, ClientError)                  \
    X(AERO_ERR_FATAL, -100, "fatal", NEVER, ClientError)                               \
    X(AERO_ERR_NO_MEMORY, -101, "out of memory", NEVER, MemoryError)

#define AERO_STATUS_ENUM_(name, value, text, retry, exception) name = value,
enum {
    AERO_STATUS_MAP(AERO_STATUS_ENUM_) AERO_STATUS_END_
};
#undef AERO_STATUS_ENUM_

#define AERO_ERROR_MESSAGE_SIZE 256
#define AERO_ERROR_NODE_SIZE 96

/* Details of one failed call. The caller owns it; every function that takes one accepts
 * NULL. On success it is left as it is. */
typedef struct aero_error {
    aero_status status;
    uint32_t attempts;                     /* times the request was sent or tried */
    bool in_doubt;                         /* a write may have been applied */
    char node[AERO_ERROR_NODE_SIZE];       /* "BB90...: 10.0.0.5:3000", "" if none */
    char message[AERO_ERROR_MESSAGE_SIZE]; /* UTF-8, NUL-terminated */
} aero_error;

/* Short English text of a status, never NULL. Any thread. */
AERO_API const char *aero_status_text(aero_status status);

/* Name of a status ("AERO_RECORD_NOT_FOUND"), "AERO_UNKNOWN_STATUS" if there is none.
 */
AERO_API const char *aero_status_name(aero_status status);

AERO_API aero_retry_class aero_status_retry_class(aero_status status);

#ifdef __cplusplus
}
#endif

#endif

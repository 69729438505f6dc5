/* SPDX-License-Identifier: Apache-2.0 */
/* config - what a client needs to know about its cluster, and what a runtime needs.
 *
 * Both structs are copied, with their strings, by the call that takes them. */
#ifndef AEROLOOP_CONFIG_H
#define AEROLOOP_CONFIG_H

#include <aeroloop/allocator.h>
#include <aeroloop/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aero_log_level {
    AERO_LOG_OFF = -1,
    AERO_LOG_ERROR = 0,
    AERO_LOG_WARN = 1,
    AERO_LOG_INFO = 2,
    AERO_LOG_DEBUG = 3,
    AERO_LOG_TRACE = 4,
} aero_log_level;

/* Called from any thread of ours, with no lock held. `text` is borrowed for the call.
 * It must not block and must not call the library. */
typedef void (*aero_log_cb)(aero_log_level level, const char *text, void *user_data);

typedef struct aero_runtime_config {
    size_t struct_size;
    uint32_t workers;                /* threads with a loop each; 1..AERO_WORKERS_MAX */
    const aero_allocator *allocator; /* NULL = malloc */
    aero_log_level log_level;
    aero_log_cb log_cb; /* NULL = no log */
    void *log_user_data;
} aero_runtime_config;

/* 2 workers, malloc, no log. */
AERO_API void aero_runtime_config_init(aero_runtime_config *config);

typedef struct aero_host {
    const char *name; /* name, IPv4 or IPv6 address (no brackets), NUL-terminated */
    uint16_t port;
} aero_host;

typedef struct aero_config {
    size_t struct_size;
    const aero_host *hosts;      /* seeds */
    size_t host_count;           /* 1..AERO_SEEDS_MAX */
    const char *cluster_name;    /* NULL = any */
    uint32_t connect_timeout_ms; /* one TCP connect; default 1000 */
    uint32_t login_timeout_ms;   /* the whole of aero_client_connect; default 30000 */
    uint32_t tend_interval_ms;   /* default 1000 */
    uint32_t max_conns_per_node; /* over all workers and the sync pool; default 256 */
    uint32_t min_conns_per_node; /* opened ahead; default 0 */
    uint32_t
        idle_timeout_ms; /* idle connections are closed; 0 = never; default 55000 */
    /* Operations of the client at once, 0 = any number; INFO is not counted, a batch
     * counts as one. Further ones wait, first come, first served, for at most
     * operation_queue_timeout_ms (0 = for ever), then fail with AERO_ERR_BACKPRESSURE.
     */
    uint32_t max_concurrent_operations;
    uint32_t operation_queue_timeout_ms;
    /* Errors of a node in one tend interval after which it is left alone until the
     * next, 0 = any number: its replicas are asked, or AERO_ERR_MAX_ERROR_RATE. Default
     * 100. */
    uint32_t max_error_rate;
    bool use_services_alternate; /* ask nodes for their alternate addresses */
    const char *user_agent; /* "python-1.0" or NULL; sent to servers that know it */
} aero_config;

AERO_API void aero_config_init(aero_config *config);
/* Checks ranges; the message names the member and its limits. */
AERO_API aero_status aero_config_check(const aero_config *config, aero_error *error);

#ifdef __cplusplus
}
#endif

#endif

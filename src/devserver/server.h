/* SPDX-License-Identifier: Apache-2.0 */
/* server - the whole process: its nodes, their cluster, the clock and the timers.
 *
 * Owner: main. Thread: one loop runs all nodes; they share nothing but the state of the
 * cluster, and records travel between them over sockets. */
#ifndef AERO_SRC_DEVSERVER_SERVER_H
#define AERO_SRC_DEVSERVER_SERVER_H

#include "base/log.h"
#include "devserver/cluster.h"
#include "devserver/execute.h"
#include "devserver/fault.h"
#include "devserver/node.h"
#include "loop/loop.h"

#define AEROS_NAMESPACES_MAX 2 /* of a community server */
#define AEROS_BUILD "8.1.2.0"
#define AEROS_EDITION "Aerospike Community Edition"

/* Of one namespace. */
typedef struct aeros_settings {
    uint32_t default_ttl;     /* seconds; 0: never expires */
    uint32_t nsup_period;     /* seconds between removals of what expired; 0: none */
    uint32_t max_record_size; /* bytes */
    bool allow_ttl_without_nsup;
} aeros_settings;

#define AEROS_MAX_RECORD_SIZE_MIN 1024u
#define AEROS_MAX_RECORD_SIZE_MAX (8u * 1024 * 1024)

extern const aeros_settings aeros_settings_default;

typedef struct aeros_config {
    const char *address;      /* numeric; listened on and announced */
    const char *cluster_name; /* borrowed for the life of the server */
    const char *namespaces[AEROS_NAMESPACES_MAX];
    aeros_settings settings[AEROS_NAMESPACES_MAX];
    uint32_t namespace_count;
    uint32_t node_count;
    uint32_t replication_factor;
    uint16_t port;               /* of the first node; 0: free ones */
    uint32_t proto_fd_max;       /* connections of clients to a node; 0: any number */
    uint32_t batch_max_requests; /* rows of a batch; 0: any number */
} aeros_config;

/* Removes what has expired in one namespace. */
typedef struct aeros_reaper {
    aeroi_timer timer;
    struct aeros_server *server;
    uint32_t ns;
} aeros_reaper;

typedef struct aeros_server {
    const aero_allocator *allocator;
    aeroi_loop *loop;
    aeros_config config;
    aeros_cluster cluster;
    aeros_exec exec;
    aeros_faults faults;
    aeros_node *nodes;    /* config.node_count */
    uint64_t link_secret; /* tells links of this process from strangers */
    uint64_t last_ns;     /* of aeros_server_tick */
    uint64_t started_ns;
    uint64_t clock_ahead_ns;  /* of the machine's: aeros_server_clock_advance */
    uint64_t last_connection; /* id */
    aeroi_log log;            /* of the caller, set before the start */
    aeros_reaper reapers[AEROS_NAMESPACES_MAX];
    aeroi_timer fill_timer;
} aeros_server;

/* Makes the nodes and listens. `error` gets the reason of a failure. */
aero_status aeros_server_start(aeros_server *server, const aero_allocator *allocator,
                               aeroi_loop *loop, const aeros_config *config,
                               aero_error *error);
/* Closes all sockets; memory goes with aeros_server_free, after the loop has ended. */
void aeros_server_stop(aeros_server *server);
void aeros_server_free(aeros_server *server);

/* Sets the time of the next request in server->exec. Never the same twice, never back.
 */
void aeros_server_tick(aeros_server *server);

/* Moves the server's clock forward; what has expired then is removed. AERO_ERR_RANGE
 * beyond 50 years in all. */
aero_status aeros_server_clock_advance(aeros_server *server, uint64_t seconds);
/* Closes and opens the nodes' ports as the faults say. AERO_ERR_SYSTEM when one cannot
 * be opened. */
aero_status aeros_server_ports_update(aeros_server *server);

/* Takes a node down (its data is lost) or up again. AERO_ERR_RANGE for no such node,
 * AERO_ERR_STATE when it is so already or the last one up, AERO_ERR_SYSTEM when its
 * port was taken. `reset`: connections end with RST. */
aero_status aeros_server_node_stop(aeros_server *server, uint32_t node, bool reset);
aero_status aeros_server_node_start(aeros_server *server, uint32_t node);

/* A link between two nodes broke: what `target` holds of `source` is filled anew. */
void aeros_server_refill(aeros_server *server, uint32_t source, uint32_t target);

/* Index of a namespace, or -1. */
int aeros_server_namespace(const aeros_server *server, const char *name, size_t len);
/* Removes records everywhere; `set` may be NULL. */
void aeros_server_truncate(aeros_server *server, uint32_t ns, const char *set,
                           size_t set_len, uint64_t lut_ns);

#endif

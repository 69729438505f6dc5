/* SPDX-License-Identifier: Apache-2.0 */
/* tend - keeps the list of nodes and the partition table true (03, sections 3 and 4).
 *
 * A round:  SEED (when there is no node) -> REFRESH -> PEERS -> REMOVE -> PARTITIONS ->
 * publish Each step asks all nodes it concerns at once and goes on when the last one
 * has answered or failed. Rounds begin one tend interval after the end of the one
 * before.
 *
 * Owner: the cluster. Thread: worker 0. */
#ifndef AERO_SRC_CLUSTER_TEND_H
#define AERO_SRC_CLUSTER_TEND_H

#include "base/buf.h"
#include "cluster/partition.h"
#include "cluster/validate.h"

typedef struct aeroi_cluster aeroi_cluster;

/* The first round is over. `text` says for each seed why it failed. On worker 0, once.
 */
typedef void (*aeroi_connected_cb)(void *owner, aero_status status, const char *text);

typedef struct aeroi_tend_ask aeroi_tend_ask;
typedef struct aeroi_tend aeroi_tend;

typedef enum aeroi_ask_kind {
    AEROI_ASK_REFRESH,    /* node id and generations */
    AEROI_ASK_PEERS,      /* who else is there */
    AEROI_ASK_PARTITIONS, /* what it owns */
} aeroi_ask_kind;

struct aeroi_tend {
    aeroi_cluster *cluster;
    aeroi_loop *loop;
    aeroi_connected_cb connected_cb; /* NULL once it was called */
    void *connected_owner;
    bool running; /* a round is under way */
    bool closing;
    bool nudged;       /* somebody needs a fresh map: the next round comes at once */
    aeroi_timer timer; /* next round */
    aeroi_timer login_timer; /* bound of the first round */
    aeroi_task start_task;
    aeroi_task nudge_task;
    atomic_bool nudge_sent;
    aeroi_node *nodes[AERO_NODES_MAX]; /* counted */
    size_t node_count;
    aeroi_table table;
    uint32_t pending;       /* asks and validations of the present step */
    aeroi_list asks;        /* aeroi_tend_ask under way */
    aeroi_list validations; /* aeroi_validation under way */
    bool peers_wanted;      /* REFRESH found a new peers generation */
    bool peer_missing;      /* a listed peer could not be reached: ask again */
    bool map_changed;
    bool answered; /* a node has answered in this round */
    bool seeding;
    aeroi_buf seed_errors;
    /* SEED and PEERS are over: nothing new appears. */
    void (*discovered_cb)(aeroi_tend *tend);
    /* What the asks call: the content of an answer, then the end of the ask. */
    aero_status (*answer_cb)(aeroi_tend *tend, aeroi_node *node, aeroi_ask_kind kind,
                             const void *body, size_t len);
    void (*done_cb)(aeroi_tend *tend, aeroi_node *node, aeroi_ask_kind kind,
                    aero_status status);
};

void aeroi_tend_init(aeroi_tend *tend, aeroi_cluster *cluster, aeroi_loop *loop);
void aeroi_tend_deinit(aeroi_tend *tend);
/* Any thread, once. */
void aeroi_tend_start(aeroi_tend *tend, aeroi_connected_cb connected_cb, void *owner);
/* Any thread: a command found no node for a partition. */
void aeroi_tend_nudge(aeroi_tend *tend);
/* Worker 0: stops at once and gives up all nodes (their pools are closed by the
 * workers). */
void aeroi_tend_close(aeroi_tend *tend);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* limits - every limit of the protocol and of this library in one place.
 *
 * Server limits were read from Aerospike 8.1.2 (datamodel.h, proto.h, rw_utils.h). */
#ifndef AEROLOOP_LIMITS_H
#define AEROLOOP_LIMITS_H

#define AERO_DIGEST_SIZE 20
#define AERO_PARTITION_COUNT 4096
#define AERO_NAMESPACE_MAX 31          /* bytes */
#define AERO_SET_MAX 63                /* bytes */
#define AERO_BIN_NAME_MAX 15           /* bytes */
#define AERO_OPS_MAX 32768             /* ops of one message */
#define AERO_BINS_MAX 32767            /* bins of one record */
#define AERO_FRAME_BODY_MAX 134217728u /* bytes after the 8-byte proto header */
#define AERO_INFO_BODY_MAX 16777216u   /* bytes of an info answer that we accept */
#define AERO_DEPTH_MAX 128             /* nesting of lists and maps, both ways */
#define AERO_TTL_MAX 315360000u        /* seconds: 10 * 365 days */
#define AERO_NODE_NAME_MAX 19          /* bytes */
#define AERO_CLUSTER_NAME_MAX 64       /* bytes */
#define AERO_NAMESPACES_MAX 32         /* namespaces of a cluster that a client keeps */
#define AERO_REPLICAS_MAX 3            /* replicas of a partition that a client keeps */
#define AERO_NODES_MAX 256             /* nodes of a cluster */
#define AERO_PEER_HOSTS_MAX 16         /* addresses of one node */
#define AERO_SEEDS_MAX 256
#define AERO_HOST_NAME_MAX 253       /* bytes */
#define AERO_BATCH_KEYS_MAX 4194304u /* keys of one batch */
#define AERO_WORKERS_MAX 32
#define AERO_COLUMN_FIELDS_MAX 32767 /* fields of a column plan */

#endif

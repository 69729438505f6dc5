/* SPDX-License-Identifier: Apache-2.0 */
/* types - the opaque types and the numbers of the wire protocol. */
#ifndef AEROLOOP_TYPES_H
#define AEROLOOP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aeroloop/export.h>
#include <aeroloop/limits.h>
#include <aeroloop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aero_runtime aero_runtime;     /* worker threads; shared by clients */
typedef struct aero_client aero_client;       /* one cluster */
typedef struct aero_operation aero_operation; /* one submitted command */
typedef struct aero_queue aero_queue;         /* finished operations and their fd */
typedef struct aero_record aero_record;       /* one record as it came from the wire */
typedef struct aero_batch aero_batch;         /* the answer of a batch */
typedef struct aero_batch_request aero_batch_request; /* the keys of a batch */
typedef struct aero_info_result aero_info_result;     /* answers of info commands */
typedef struct aero_plan aero_plan;                   /* how bins map to columns */

/* Particle types (01-framing, section 5). Other values may arrive and are kept as
 * blobs. */
typedef enum aero_particle {
    AERO_PARTICLE_NULL = 0,
    AERO_PARTICLE_INTEGER = 1,
    AERO_PARTICLE_FLOAT = 2,
    AERO_PARTICLE_STRING = 3,
    AERO_PARTICLE_BLOB = 4,
    AERO_PARTICLE_JAVA_BLOB = 7,
    AERO_PARTICLE_CSHARP_BLOB = 8,
    AERO_PARTICLE_PYTHON_BLOB = 9,
    AERO_PARTICLE_RUBY_BLOB = 10,
    AERO_PARTICLE_PHP_BLOB = 11,
    AERO_PARTICLE_ERLANG_BLOB = 12,
    AERO_PARTICLE_VECTOR = 16,
    AERO_PARTICLE_BOOL = 17,
    AERO_PARTICLE_HLL = 18,
    AERO_PARTICLE_MAP = 19,
    AERO_PARTICLE_LIST = 20,
    AERO_PARTICLE_GEOJSON = 23,
} aero_particle;

/* Operation types (01-framing, section 4). */
typedef enum aero_op_type {
    AERO_OP_READ = 1,
    AERO_OP_WRITE = 2,
    AERO_OP_CDT_READ = 3,
    AERO_OP_CDT_MODIFY = 4,
    AERO_OP_INCR = 5,
    AERO_OP_EXP_READ = 7,
    AERO_OP_EXP_MODIFY = 8,
    AERO_OP_APPEND = 9,
    AERO_OP_PREPEND = 10,
    AERO_OP_TOUCH = 11,
    AERO_OP_BITS_READ = 12,
    AERO_OP_BITS_MODIFY = 13,
    AERO_OP_DELETE_ALL = 14,
    AERO_OP_HLL_READ = 15,
    AERO_OP_HLL_MODIFY = 16,
} aero_op_type;

#ifdef __cplusplus
}
#endif

#endif

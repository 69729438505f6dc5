/* SPDX-License-Identifier: Apache-2.0 */
/* aeroloop - a client for Aerospike clusters. Includes all public headers. */
#ifndef AEROLOOP_AEROLOOP_H
#define AEROLOOP_AEROLOOP_H

#include <aeroloop/allocator.h>
#include <aeroloop/batch.h>
#include <aeroloop/client.h>
#include <aeroloop/column.h>
#include <aeroloop/config.h>
#include <aeroloop/key.h>
#include <aeroloop/limits.h>
#include <aeroloop/op.h>
#include <aeroloop/operation.h>
#include <aeroloop/policy.h>
#include <aeroloop/record.h>
#include <aeroloop/status.h>
#include <aeroloop/types.h>
#include <aeroloop/value.h>

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* resolve - a host name to all of its addresses, without blocking the loop.
 *
 * A numeric address needs no thread; a name is looked up by a thread that lives for
 * this one look-up (libuv's pool would stay behind). Owner: the caller, until the
 * callback or the cancel. Thread: the loop's. */
#ifndef AERO_SRC_LOOP_RESOLVE_H
#define AERO_SRC_LOOP_RESOLVE_H

#include "loop/address.h"
#include "loop/loop.h"

typedef struct aeroi_resolve aeroi_resolve;

/* `addresses` is borrowed for the call. AERO_ERR_INVALID_HOST when the name has none;
 * `text` is the reason. Never called inside aeroi_resolve_start. */
typedef void (*aeroi_resolve_cb)(void *owner, aero_status status,
                                 const aeroi_address *addresses, size_t count,
                                 const char *text);

aero_status aeroi_resolve_start(aeroi_loop *loop, const char *name, uint16_t port,
                                aeroi_resolve_cb cb, void *owner, aeroi_resolve **out);
/* The callback will not come. A look-up that hangs is left to its thread, which then
 * frees itself without touching the loop. */
void aeroi_resolve_cancel(aeroi_resolve *resolve);

#endif

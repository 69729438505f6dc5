/* SPDX-License-Identifier: Apache-2.0 */
/* uv - a runtime without threads, on a libuv loop that the caller runs. Not part of
 * aeroloop.h: it is for programs that use libuv themselves.
 *
 * Everything, the tend included, then happens on that loop, and completions are called
 * on its thread. There, what blocks is refused with AERO_ERR_STATE
 * (aero_client_connect, aero_client_close): use the _submit forms. aero_execute and the
 * short forms work on every thread, on sockets of their own, once the client is
 * connected.
 *
 *     uv_loop_t loop;
 *     aero_runtime *runtime;
 *     uv_loop_init(&loop);
 *     aero_runtime_new_on_loop(&config, &loop, &runtime, &error);
 *     ... aero_client_new, aero_client_connect_submit, ...
 *     uv_run(&loop, UV_RUN_DEFAULT);
 *     ... aero_client_close_submit, and in its completion aero_client_unref,
 *     ... aero_runtime_unref; then uv_run returns when nothing of the caller's is left.
 */
#ifndef AEROLOOP_UV_H
#define AEROLOOP_UV_H

#include <aeroloop/config.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s; /* uv_loop_t */

/* `loop` is borrowed until it has run the close callbacks after the last
 * aero_runtime_unref. Call this, the last aero_client_unref and the last
 * aero_runtime_unref on the thread that runs the loop. `config->workers` is ignored. */
AERO_API aero_status aero_runtime_new_on_loop(const aero_runtime_config *config,
                                              struct uv_loop_s *loop,
                                              aero_runtime **out_runtime,
                                              aero_error *error);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* load - records of a YAML or JSON file, put into the stores before the server is
 * ready.
 *
 *   - namespace: test       # one that the server has
 *     set: users            # may be absent
 *     key: alice            # text, an integer, or bytes: {b64: "AQID"}
 *     ttl: 3600             # seconds; absent: the namespace's; -1: never expires
 *     bins: {name: Alice, age: 42, tags: [a, b], photo: {b64: "/9j/4AAQ"}}
 *
 * Thread: the one that will run the loop. */
#ifndef AERO_SRC_DEVSERVER_LOAD_H
#define AERO_SRC_DEVSERVER_LOAD_H

#include "devserver/server.h"

/* False: the reason was written to stderr. */
bool aeros_load_file(aeros_server *server, const char *file);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* method - a method of AsyncClient as an attribute of its class.
 *
 * A builtin method cannot say that what it returns is to be awaited. Programs ask:
 * web frameworks run a function that is no coroutine function in a thread, mocks of a
 * class make its methods awaitable or not. This one says so, and is called as fast. */
#ifndef AEROPY_METHOD_H
#define AEROPY_METHOD_H

#include "call.h"

/* A new one; `def` (its name and doc with the signature) must be static. */
PyObject *aeropy_method_new(aeropy_state *state, const aeropy_command *command,
                            const PyMethodDef *def);

#endif

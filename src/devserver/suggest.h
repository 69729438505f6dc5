/* SPDX-License-Identifier: Apache-2.0 */
/* suggest - the known word that is nearest to one that was mistyped. Pure. */
#ifndef AERO_SRC_DEVSERVER_SUGGEST_H
#define AERO_SRC_DEVSERVER_SUGGEST_H

#include <stddef.h>

/* Longer words have no neighbour. */
#define AEROS_SUGGEST_MAX 63

/* `known` holds `count` words. NULL when none is near: more than two letters in five
 * would have to change. */
const char *aeros_suggest(const char *word, size_t len, const char *const *known,
                          size_t count);

#endif

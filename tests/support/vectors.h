/* SPDX-License-Identifier: Apache-2.0 */
/* vectors - the vector files of tests/data: one JSON object whose "vectors" is a list
 * of flat objects. A file that does not look like that aborts. */
#ifndef AERO_TESTS_SUPPORT_VECTORS_H
#define AERO_TESTS_SUPPORT_VECTORS_H

#include <stddef.h>
#include <stdint.h>

typedef struct test_vectors test_vectors;

/* `name` is the file's in tests/data. */
test_vectors *test_vectors_new(const char *folder, const char *name);
void test_vectors_free(test_vectors *vectors);
size_t test_vectors_count(const test_vectors *vectors);

/* The member `name` as text: a string decoded to UTF-8, anything else as it stands.
 * Aborts when there is none. Borrowed until test_vectors_free. */
const char *test_vectors_text(const test_vectors *vectors, size_t index,
                              const char *name);

/* A member that is hex: test_unhex_new of its text. */
uint8_t *test_vectors_bytes(const test_vectors *vectors, size_t index, const char *name,
                            size_t *out_len);

#endif

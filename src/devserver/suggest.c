/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/suggest.h"

#include <stdint.h>
#include <string.h>

static char
letter_fold(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (char)(c - 'A' + 'a');
    }
    return c == '_' ? '-' : c;
}

/* Letters to insert, remove or replace (Levenshtein), one row of the table at a time.
 */
static size_t
distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[AEROS_SUGGEST_MAX + 1];
    for (size_t j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best =
                diagonal + (letter_fold(a[i - 1]) == letter_fold(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[b_len];
}

const char *
aeros_suggest(const char *word, size_t len, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    if (len > AEROS_SUGGEST_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        size_t known_len = strlen(known[i]);
        if (known_len > AEROS_SUGGEST_MAX) {
            continue;
        }
        size_t d = distance(word, len, known[i], known_len);
        size_t longer = len > known_len ? len : known_len;
        if (d * 5 <= longer * 2 && d < best_distance) {
            best = known[i];
            best_distance = d;
        }
    }
    return best;
}

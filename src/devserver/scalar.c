/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *
digits_skip(const char *at)
{
    while (is_digit(*at)) {
        at++;
    }
    return at;
}

static bool
is_word(const char *text, const char *lower, const char *title, const char *upper)
{
    return strcmp(text, lower) == 0 || strcmp(text, title) == 0 ||
           strcmp(text, upper) == 0;
}

/* [-+]?[0-9]+ or 0o[0-7]+ or 0x[0-9a-fA-F]+; the base, or 0. */
static int
integer_base(const char *text)
{
    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'x')) {
        const char *allowed = text[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF";
        bool good = text[2] != '\0' && text[2 + strspn(text + 2, allowed)] == '\0';
        return !good ? 0 : text[1] == 'o' ? 8 : 16;
    }
    const char *at = text + (*text == '-' || *text == '+');
    return is_digit(*at) && *digits_skip(at) == '\0' ? 10 : 0;
}

/* [-+]? ( .digits | digits [. digits?] ) ( [eE] [-+]? digits )? */
static bool
is_float(const char *text)
{
    const char *at = text + (*text == '-' || *text == '+');
    const char *whole = at;
    at = digits_skip(at);
    bool has_whole = at > whole;
    if (*at == '.') {
        const char *part = at + 1;
        at = digits_skip(part);
        if (!has_whole && at == part) {
            return false;
        }
    }
    else if (!has_whole) {
        return false;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        if (!is_digit(*at)) {
            return false;
        }
        at = digits_skip(at);
    }
    return *at == '\0';
}

static bool
special_float(const char *text, double *out)
{
    const char *at = text + (*text == '-' || *text == '+');
    if (is_word(at, ".inf", ".Inf", ".INF")) {
        *out = *text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    *out = NAN;
    return is_word(text, ".nan", ".NaN", ".NAN");
}

aero_status
aeros_scalar_parse(const char *text, size_t len, aero_value *out)
{
    double number = 0;
    *out = aero_value_string(text, len);
    if (strlen(text) != len) {
        return AERO_OK; /* a NUL inside */
    }
    if (len == 0 || strcmp(text, "~") == 0 || is_word(text, "null", "Null", "NULL")) {
        *out = aero_value_null();
    }
    else if (is_word(text, "true", "True", "TRUE")) {
        *out = aero_value_bool(true);
    }
    else if (is_word(text, "false", "False", "FALSE")) {
        *out = aero_value_bool(false);
    }
    else if (special_float(text, &number)) {
        *out = aero_value_float(number);
    }
    else if (integer_base(text) != 0) {
        int base = integer_base(text);
        errno = 0;
        long long integer = strtoll(base == 10 ? text : text + 2, NULL, base);
        if (errno != 0) {
            return AERO_ERR_RANGE;
        }
        *out = aero_value_int(integer);
    }
    else if (is_float(text)) {
        *out = aero_value_float(strtod(text, NULL));
    }
    return AERO_OK;
}

static bool
number_with_unit(const char *text, const char *units, const uint64_t *factors,
                 uint32_t *out)
{
    const char *end = digits_skip(text);
    if (end == text || end - text > 10) {
        return false;
    }
    uint64_t number = strtoull(text, NULL, 10);
    if (*end != '\0') {
        char unit = *end >= 'A' && *end <= 'Z' ? (char)(*end - 'A' + 'a') : *end;
        const char *found = strchr(units, unit);
        if (found == NULL || end[1] != '\0') {
            return false;
        }
        number *= factors[found - units];
    }
    *out = (uint32_t)number;
    return number <= UINT32_MAX;
}

bool
aeros_scalar_seconds(const char *text, uint32_t *out)
{
    static const uint64_t factors[] = {1, 60, 3600, 86400};
    return number_with_unit(text, "smhd", factors, out);
}

bool
aeros_scalar_bytes(const char *text, uint32_t *out)
{
    static const uint64_t factors[] = {1024, 1024 * 1024};
    return number_with_unit(text, "km", factors, out);
}

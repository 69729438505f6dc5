/* SPDX-License-Identifier: Apache-2.0 */
#include "devserver/geojson.h"

#include <stdlib.h>
#include <string.h>

/* Brackets inside brackets of any JSON value in the text. */
#define DEPTH_MAX 64
#define NUMBER_TEXT_MAX 63
#define RING_POINTS_MIN 4

typedef struct text {
    const char *next;
    const char *end;
} text;

static void
blank_skip(text *t)
{
    while (t->next < t->end && (*t->next == ' ' || *t->next == '\t' ||
                                *t->next == '\n' || *t->next == '\r')) {
        t->next++;
    }
}

/* Takes `c` after blanks. */
static bool
char_take(text *t, char c)
{
    blank_skip(t);
    if (t->next < t->end && *t->next == c) {
        t->next++;
        return true;
    }
    return false;
}

static char
char_peek(text *t)
{
    blank_skip(t);
    if (t->next < t->end) {
        return *t->next;
    }
    return '\0';
}

/* A string; `out` gets its raw inside. */
static bool
string_take(text *t, text *out)
{
    if (!char_take(t, '"')) {
        return false;
    }
    out->next = t->next;
    while (t->next < t->end && *t->next != '"') {
        if ((unsigned char)*t->next < 0x20) {
            return false;
        }
        t->next += *t->next == '\\' ? 2 : 1;
    }
    if (t->next >= t->end) {
        return false;
    }
    out->end = t->next++;
    return true;
}

static bool
number_take(text *t, double *out)
{
    blank_skip(t);
    char copy[NUMBER_TEXT_MAX + 1];
    size_t len = 0;
    while (t->next < t->end && len < NUMBER_TEXT_MAX && *t->next != '\0' &&
           strchr("+-.0123456789eE", *t->next) != NULL) {
        copy[len++] = *t->next++;
    }
    copy[len] = '\0';
    char *end = NULL;
    *out = strtod(copy, &end);
    return len > 0 && end == copy + len && copy[0] != '+';
}

static bool
word_take(text *t, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(t->end - t->next) < len || memcmp(t->next, word, len) != 0) {
        return false;
    }
    t->next += len;
    return true;
}

static bool
scalar_skip(text *t)
{
    text ignored;
    double number;
    switch (char_peek(t)) {
    case '"':
        return string_take(t, &ignored);
    case 't':
        return word_take(t, "true");
    case 'f':
        return word_take(t, "false");
    case 'n':
        return word_take(t, "null");
    default:
        return number_take(t, &number);
    }
}

/* Skips one value of any shape. */
static bool
value_skip(text *t)
{
    char closers[DEPTH_MAX];
    size_t depth = 0;
    for (;;) {
        char c = char_peek(t);
        bool opened = c == '{' || c == '[';
        if (opened) {
            if (depth == DEPTH_MAX) {
                return false;
            }
            t->next++;
            closers[depth++] = c == '{' ? '}' : ']';
        }
        else if (!scalar_skip(t)) {
            return false;
        }
        if (!opened || char_peek(t) == closers[depth - 1]) {
            while (depth > 0 && char_take(t, closers[depth - 1])) {
                depth--;
            }
            if (depth == 0) {
                return true;
            }
            if (!char_take(t, ',')) {
                return false;
            }
        }
        text key;
        if (closers[depth - 1] == '}' &&
            (!string_take(t, &key) || !char_take(t, ':'))) {
            return false;
        }
    }
}

/* Longitude and latitude, further numbers ignored. */
static bool
position_take(text *t, double *lng, double *lat)
{
    double more;
    if (!char_take(t, '[') || !number_take(t, lng) || !char_take(t, ',') ||
        !number_take(t, lat)) {
        return false;
    }
    while (char_take(t, ',')) {
        if (!number_take(t, &more)) {
            return false;
        }
    }
    return char_take(t, ']') && *lng >= -180 && *lng <= 180 && *lat >= -90 &&
           *lat <= 90;
}

static bool
ring_take(text *t)
{
    double first[2] = {0, 0};
    double last[2] = {0, 0};
    size_t count = 0;
    if (!char_take(t, '[')) {
        return false;
    }
    do {
        if (!position_take(t, &last[0], &last[1])) {
            return false;
        }
        if (count++ == 0) {
            memcpy(first, last, sizeof first);
        }
    } while (char_take(t, ','));
    return char_take(t, ']') && count >= RING_POINTS_MIN && first[0] == last[0] &&
           first[1] == last[1];
}

/* A non-empty array of what `take` takes. */
static bool
array_take(text *t, bool (*take)(text *t))
{
    if (!char_take(t, '[')) {
        return false;
    }
    do {
        if (!take(t)) {
            return false;
        }
    } while (char_take(t, ','));
    return char_take(t, ']');
}

static bool
polygon_take(text *t)
{
    return array_take(t, ring_take);
}

static bool
circle_take(text *t)
{
    double lng;
    double lat;
    double radius;
    return char_take(t, '[') && position_take(t, &lng, &lat) && char_take(t, ',') &&
           number_take(t, &radius) && radius >= 0 && char_take(t, ']');
}

static bool
text_equal(const text *t, const char *word)
{
    size_t len = strlen(word);
    return (size_t)(t->end - t->next) == len && memcmp(t->next, word, len) == 0;
}

typedef struct members {
    text type;
    text coordinates;
    text geometry;
} members;

/* Walks one object and remembers where its known members are. */
static bool
object_take(text *t, members *out)
{
    memset(out, 0, sizeof *out);
    if (!char_take(t, '{')) {
        return false;
    }
    if (char_take(t, '}')) {
        return true;
    }
    do {
        text key;
        if (!string_take(t, &key) || !char_take(t, ':')) {
            return false;
        }
        text value = *t;
        if (!value_skip(t)) {
            return false;
        }
        value.end = t->next;
        if (text_equal(&key, "type")) {
            text inside = value;
            if (!string_take(&inside, &out->type)) {
                return false;
            }
        }
        else if (text_equal(&key, "coordinates")) {
            out->coordinates = value;
        }
        else if (text_equal(&key, "geometry")) {
            out->geometry = value;
        }
    } while (char_take(t, ','));
    return char_take(t, '}');
}

bool
aeros_geojson_check(const char *data, size_t len, bool *out_region)
{
    text all = {data, data + len};
    members object;
    if (!object_take(&all, &object)) {
        return false;
    }
    blank_skip(&all);
    if (all.next != all.end || object.type.next == NULL) {
        return false;
    }
    if (text_equal(&object.type, "Feature")) {
        text geometry = object.geometry;
        if (geometry.next == NULL || !object_take(&geometry, &object) ||
            object.type.next == NULL) {
            return false;
        }
    }
    text *coordinates = &object.coordinates;
    if (coordinates->next == NULL) {
        return false;
    }
    *out_region = true;
    double lng;
    double lat;
    if (text_equal(&object.type, "Point")) {
        *out_region = false;
        return position_take(coordinates, &lng, &lat);
    }
    if (text_equal(&object.type, "Polygon")) {
        return polygon_take(coordinates);
    }
    if (text_equal(&object.type, "MultiPolygon")) {
        return array_take(coordinates, polygon_take);
    }
    return text_equal(&object.type, "AeroCircle") && circle_take(coordinates);
}

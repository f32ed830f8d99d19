/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

#define INTEGER_LIMIT 9007199254740992.0 /* 2^53: from here on different numbers in a text become the same double */

static const char *const type_names[] = {
    [TC_JSON_NULL] = "null",       [TC_JSON_BOOL] = "true or false", [TC_JSON_NUMBER] = "a number",
    [TC_JSON_STRING] = "a string", [TC_JSON_ARRAY] = "an array",     [TC_JSON_OBJECT] = "an object",
};
_Static_assert(TC_COUNT(type_names) == TC_JSON_OBJECT + 1, "a name for every type");

static const cJSON *json_item(const struct tc_json *json)
{
    return json->item;
}

enum tc_json_type tc_json_type(const struct tc_json *json)
{
    switch (json_item(json)->type & 0xff) { /* flags of ownership stand above */
    case cJSON_False:
    case cJSON_True:
        return TC_JSON_BOOL;
    case cJSON_Number:
        return TC_JSON_NUMBER;
    case cJSON_String:
        return TC_JSON_STRING;
    case cJSON_Array:
        return TC_JSON_ARRAY;
    case cJSON_Object:
        return TC_JSON_OBJECT;
    default: /* not an enum: cJSON's types are macros */
        return TC_JSON_NULL;
    }
}

size_t tc_json_size(const struct tc_json *json)
{
    size_t count = 0;

    for (const cJSON *child = json_item(json)->child; child != NULL; child = child->next)
        count++;
    return count;
}

bool tc_json_next(const struct tc_json *parent, struct tc_json *child)
{
    bool first = child->item == NULL;
    const cJSON *item = first ? json_item(parent)->child : json_item(child)->next;

    if (item == NULL)
        return false;
    *child = (struct tc_json){
        .parent = parent,
        .item = item,
        .key = item->string,
        .index = first ? 0 : child->index + 1,
    };
    return true;
}

bool tc_json_member(const struct tc_json *json, const char *key, struct tc_json *ret)
{
    struct tc_json child = {0};

    while (tc_json_next(json, &child))
        if (child.key != NULL && strcmp(child.key, key) == 0) {
            *ret = child;
            return true;
        }
    return false;
}

static bool key_is_known(const char *key, const char *const *known)
{
    for (; *known != NULL; known++)
        if (strcmp(key, *known) == 0)
            return true;
    return false;
}

int tc_json_keys(const struct tc_json *json, const char *const *known, struct tc_error *err)
{
    struct tc_json child = {0};
    int r = tc_json_expect(json, TC_JSON_OBJECT, err);

    while (r == 0 && tc_json_next(json, &child))
        if (!key_is_known(child.key, known))
            r = tc_json_bad(&child, err, "unknown key");
    return r;
}

int tc_json_expect(const struct tc_json *json, enum tc_json_type type, struct tc_error *err)
{
    if (tc_json_type(json) == type)
        return 0;
    return tc_json_bad(json, err, "expected %s", type_names[type]);
}

/* The string of {"base64": "…"}, or NULL when json is anything else. */
static const char *json_base64(const struct tc_json *json)
{
    struct tc_json value;

    if (tc_json_type(json) != TC_JSON_OBJECT || tc_json_size(json) != 1 || !tc_json_member(json, "base64", &value) ||
        tc_json_type(&value) != TC_JSON_STRING)
        return NULL;
    return json_item(&value)->valuestring;
}

static int json_string_base64(const struct tc_json *json, struct tc_arena *arena, const char **ret, size_t *length,
                              struct tc_error *err)
{
    const char *encoded = json_base64(json);
    tc_auto_buf decoded = {0};

    if (encoded == NULL)
        return tc_json_bad(json, err, "expected a string");
    if (tc_base64_decode(&decoded, encoded, strlen(encoded)) < 0)
        return tc_json_bad(json, err, "not base64");
    if (length == NULL && decoded.length > 0 && memchr(decoded.data, '\0', decoded.length) != NULL)
        return tc_json_bad(json, err, "contains a NUL byte");
    *ret = tc_buf_failed(&decoded) ? NULL : tc_arena_copy(arena, decoded.data, decoded.length);
    if (*ret == NULL)
        return tc_error_set(err, -ENOMEM, "copy a string");
    if (length != NULL)
        *length = decoded.length;
    return 0;
}

int tc_json_string(const struct tc_json *json, struct tc_arena *arena, const char **ret, size_t *length,
                   struct tc_error *err)
{
    const char *text;

    if (tc_json_type(json) != TC_JSON_STRING)
        return json_string_base64(json, arena, ret, length, err);
    text = tc_arena_string(arena, json_item(json)->valuestring);
    if (text == NULL)
        return tc_error_set(err, -ENOMEM, "copy a string");
    *ret = text;
    if (length != NULL)
        *length = strlen(text);
    return 0;
}

int tc_json_bool(const struct tc_json *json, bool *ret, struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_BOOL, err);

    if (r == 0)
        *ret = (json_item(json)->type & 0xff) == cJSON_True;
    return r;
}

int tc_json_number(const struct tc_json *json, double *ret, struct tc_error *err)
{
    int r = tc_json_expect(json, TC_JSON_NUMBER, err);

    if (r < 0)
        return r;
    if (!isfinite(json_item(json)->valuedouble))
        return tc_json_bad(json, err, "number out of range");
    *ret = json_item(json)->valuedouble;
    return 0;
}

int tc_json_integer(const struct tc_json *json, int64_t low, int64_t high, int64_t *ret, struct tc_error *err)
{
    double value = 0;
    int r = tc_json_number(json, &value, err);

    if (r < 0)
        return r;
    if (fabs(value) >= INTEGER_LIMIT)
        return tc_json_bad(json, err, "number out of range");
    if (value != (double)(int64_t)value)
        return tc_json_bad(json, err, "expected a whole number");
    if ((int64_t)value < low || (int64_t)value > high)
        return tc_json_bad(json, err, "expected a number from %lld to %lld", (long long)low, (long long)high);
    *ret = (int64_t)value;
    return 0;
}

/* ---- places ---- */

/* Bounded output that ends in dots when not everything has fitted. */
struct pointer_text {
    char *text;
    size_t size, used;
    bool cut;
};

static void pointer_put(struct pointer_text *out, const char *text, size_t length)
{
    static const char dots[] = "...";

    if (!out->cut && out->used + length + sizeof dots <= out->size) {
        memcpy(out->text + out->used, text, length);
        out->used += length;
    } else if (!out->cut && out->used + sizeof dots <= out->size) {
        out->cut = true;
        memcpy(out->text + out->used, dots, sizeof dots - 1);
        out->used += sizeof dots - 1;
    }
}

static void pointer_write(const struct tc_json *json, struct pointer_text *out)
{
    char number[24];

    if (json->parent == NULL)
        return;
    pointer_write(json->parent, out);
    pointer_put(out, "/", 1);
    if (json->key == NULL)
        pointer_put(out, number, (size_t)snprintf(number, sizeof number, "%zu", json->index));
    for (const char *at = json->key; at != NULL && *at != '\0';) {
        size_t plain = strcspn(at, "~/");

        pointer_put(out, at, plain);
        at += plain;
        if (*at != '\0')
            pointer_put(out, *at++ == '~' ? "~0" : "~1", 2);
    }
}

const char *tc_json_pointer(const struct tc_json *json, char *text, size_t size)
{
    struct pointer_text out = {.text = text, .size = size};

    pointer_write(json, &out);
    if (size > 0)
        text[out.used] = '\0';
    return text;
}

#define PLACE_SHOWN 220 /* bytes of a JSON pointer in a message */

int tc_json_bad(const struct tc_json *json, struct tc_error *err, const char *format, ...)
{
    const struct tc_json *root = json;
    tc_auto_buf place = {0};
    char pointer[200], why[256];
    va_list args;

    while (root->parent != NULL)
        root = root->parent;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    tc_json_pointer(json, pointer, sizeof pointer);
    tc_text_escape(&place, pointer[0] == '\0' ? "/" : pointer, pointer[0] == '\0' ? 1 : strlen(pointer));
    if (tc_buf_failed(&place))
        return tc_error_plain(err, -EINVAL, "%s: ?: %s", root->key, why);
    /* Escaping makes four bytes of one; the reason must still fit behind the place. */
    if (place.length > PLACE_SHOWN)
        return tc_error_plain(err, -EINVAL, "%s: %.*s...: %s", root->key,
                              (int)tc_utf8_complete(place.data, PLACE_SHOWN), place.data, why);
    return tc_error_plain(err, -EINVAL, "%s: %s: %s", root->key, place.data, why);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON reader: it must not fault, must name a place for what it refuses,
 * and what it accepts, written by our writer, must be accepted again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/emit.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* Write a value with our writer, which knows no fractions: numbers become strings. */
static void write_value(const struct tc_json *json, struct tc_arena *arena, struct tc_emit *emit)
{
    const char *key = json->parent == NULL ? NULL : json->key, *text;
    struct tc_json child = {0};
    double number = 0;
    bool flag = false;
    size_t length;

    switch (tc_json_type(json)) {
    case TC_JSON_NULL:
        tc_emit_null(emit, key);
        break;
    case TC_JSON_BOOL:
        must(tc_json_bool(json, &flag, NULL) == 0, "a bool is a bool");
        tc_emit_bool(emit, key, flag);
        break;
    case TC_JSON_NUMBER: {
        char bits[sizeof number * 2 + 1] = "";

        uint64_t image;

        if (tc_json_number(json, &number, NULL) == 0) {
            memcpy(&image, &number, sizeof image);
            snprintf(bits, sizeof bits, "%016llx", (unsigned long long)image);
        }
        tc_emit_string(emit, key, bits);
        break;
    }
    case TC_JSON_STRING:
        must(tc_json_string(json, arena, &text, &length, NULL) == 0, "a string is a string");
        tc_emit_bytes(emit, key, text, length);
        break;
    case TC_JSON_ARRAY:
        tc_emit_array(emit, key);
        while (tc_json_next(json, &child))
            write_value(&child, arena, emit);
        tc_emit_array_end(emit);
        break;
    case TC_JSON_OBJECT:
        tc_emit_object(emit, key);
        while (tc_json_next(json, &child))
            write_value(&child, arena, emit);
        tc_emit_object_end(emit);
        break;
    }
}

/* Ask every question of every value; the answers do not matter. */
static void read_value(const struct tc_json *json, struct tc_arena *arena)
{
    static const char *const known[] = {"a", NULL};
    struct tc_json child = {0}, member;
    struct tc_error err;
    const char *text;
    char place[32];
    int64_t integer;
    size_t count = 0;

    tc_json_pointer(json, place, sizeof place);
    tc_json_keys(json, known, &err);
    tc_json_integer(json, -5, 5, &integer, &err);
    tc_json_string(json, arena, &text, NULL, &err);
    while (tc_json_next(json, &child)) {
        must(child.index == count++, "children are counted");
        if (child.key != NULL)
            must(tc_json_member(json, child.key, &member) && member.item == child.item, "a key leads to its member");
        read_value(&child, arena);
    }
    must(count == tc_json_size(json), "size is the number of children");
}

static void check_again(const struct tc_buf *first)
{
    tc_auto_json document = NULL;
    struct tc_error err = {0};
    struct tc_json root;

    if (tc_json_parse(first->data, first->length, "again", &document, &root, &err) == 0)
        return;
    fprintf(stderr, "%s\n%s\n", err.message, first->data);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tc_auto_arena arena = tc_arena_new();
    tc_auto_json document = NULL;
    struct tc_error err = {0};
    tc_auto_buf written = {0};
    struct tc_emit emit = {.out = &written, .indent = size % 3};
    struct tc_json root;

    if (arena == NULL)
        return 0;
    if (tc_json_parse((const char *)data, size, "text", &document, &root, &err) < 0) {
        must(strncmp(err.message, "text: ", 6) == 0 && strchr(err.message + 6, ':') != NULL,
             "an error names its place");
        must(strpbrk(err.message, "\n\r\x1b") == NULL, "an error is one line");
        return 0;
    }
    read_value(&root, arena);
    write_value(&root, arena, &emit);
    if (!tc_buf_failed(&written)) /* the writer's depth is smaller than the reader's */
        check_again(&written);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_BASE_JSON_H
#define TC_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Reading JSON strictly, with comments, and saying where something is wrong.
 *
 * cJSON does the parsing; it is loaded on first use, so that a call that reads
 * no JSON does not pay for it. Around it: comments are blanked, and raw
 * control characters, invalid UTF-8, keys given twice, `\u0000`, sloppy
 * numbers and trailing text are errors, by line and column or by JSON pointer.
 */
struct tc_json_document;

/**
 * A value and the way to it. Cursors live on the caller's stack and are linked
 * to their parent, so that any of them can name its place; a parent must
 * outlive its children. The document owns what they point to.
 */
struct tc_json {
    const struct tc_json *parent; /* NULL at the root */
    const void *item;             /* the parser's node */
    const char *key;              /* member name, or NULL for an element; at the root the document's name */
    size_t index;                 /* place among its siblings, from 0 */
};

/**
 * Parse a text. Syntax errors read "NAME: line L, column C: why".
 *
 * @param text    length bytes; borrowed for the call only
 * @param name    what the text is, for messages ("policy.json", "request")
 * @param ret     a new document, to be freed with tc_json_free()
 * @param root    cursor at the root value
 * @return 0, -EINVAL (malformed), -ENOMEM, -ELIBACC (the JSON library is missing)
 */
int tc_json_parse(const char *text, size_t length, const char *name, struct tc_json_document **ret,
                  struct tc_json *root, struct tc_error *err);
void tc_json_free(struct tc_json_document *document);

static inline void tc_cleanup_json(struct tc_json_document **document)
{
    tc_json_free(*document);
}
#define tc_auto_json __attribute__((cleanup(tc_cleanup_json))) struct tc_json_document *

enum tc_json_type { TC_JSON_NULL, TC_JSON_BOOL, TC_JSON_NUMBER, TC_JSON_STRING, TC_JSON_ARRAY, TC_JSON_OBJECT };

enum tc_json_type tc_json_type(const struct tc_json *json);

/** Number of elements or members; 0 for other types. */
size_t tc_json_size(const struct tc_json *json);

/** Step to the first child (iterator not started: item NULL) or the next one; false at the end.
 *  Start with `struct tc_json child = {0};`. */
bool tc_json_next(const struct tc_json *parent, struct tc_json *child);

/** Find a member of an object; false when it is absent (or json is not an object). */
bool tc_json_member(const struct tc_json *json, const char *key, struct tc_json *ret);

/** Require an object whose keys all stand in the NULL-terminated list. -EINVAL names the unknown key's pointer. */
int tc_json_keys(const struct tc_json *json, const char *const *known, struct tc_error *err);

/** Require a type: "POINTER: expected a string". */
int tc_json_expect(const struct tc_json *json, enum tc_json_type type, struct tc_error *err);

/**
 * Read a string, or {"base64": "…"} standing for one that is not UTF-8, into the arena.
 *
 * @param ret     NUL-terminated copy
 * @param length  its length without the NUL, may be NULL: then a NUL inside is an error (-EINVAL)
 */
int tc_json_string(const struct tc_json *json, struct tc_arena *arena, const char **ret, size_t *length,
                   struct tc_error *err);
int tc_json_bool(const struct tc_json *json, bool *ret, struct tc_error *err);

/** Require a whole number in [low, high]; below 2^53, since it is read as a double. */
int tc_json_integer(const struct tc_json *json, int64_t low, int64_t high, int64_t *ret, struct tc_error *err);
int tc_json_number(const struct tc_json *json, double *ret, struct tc_error *err);

/** Write the JSON pointer of a value ("" at the root, "/rules/3/efect"; ~0 ~1 escaped) and return text. */
const char *tc_json_pointer(const struct tc_json *json, char *text, size_t size);

/** Report a bad value: "NAME: POINTER: formatted text" with code -EINVAL. The pointer of the root is "/". */
int tc_json_bad(const struct tc_json *json, struct tc_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

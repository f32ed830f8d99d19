/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * A text is first scanned strictly (json_scan.c): after that it is known to be
 * JSON and its comments are blanked in a copy, which cJSON parses. What the
 * text's grammar does not show is then checked on the tree: strings that
 * cJSON has cut at `\u0000`, which the scan has counted, and keys that stand
 * twice in an object.
 *
 * cJSON comes as a shared library only. It is opened on first use and stays.
 */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_scan.h"

#define CJSON_LIBRARY "libcjson.so.1"
#define FEW_KEYS 12 /* up to here comparing all pairs is faster than sorting */

struct tc_json_document {
    cJSON *root;
    char *name;
};

struct cjson {
    cJSON *(*parse)(const char *text);
    void (*delete)(cJSON *item);
    char failure[128];
    int code;
};

static struct cjson cjson;

static void cjson_load(void)
{
    void *library = dlopen(CJSON_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library != NULL) {
        /* POSIX lets a pointer from dlsym() be used as a function's, C does not let it be converted. */
        *(void **)&cjson.parse = dlsym(library, "cJSON_Parse");
        *(void **)&cjson.delete = dlsym(library, "cJSON_Delete");
    }
    if (cjson.parse == NULL || cjson.delete == NULL) {
        const char *why = dlerror();

        cjson.code = -ELIBACC;
        snprintf(cjson.failure, sizeof cjson.failure, "%s", why != NULL ? why : "unknown reason");
    }
}

static int cjson_open(struct tc_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, cjson_load);
    if (cjson.code == 0)
        return 0;
    tc_error_plain(err, cjson.code, "load the JSON library: %s", cjson.failure);
    tc_error_hint(err, "install libcjson1");
    return cjson.code;
}

/* ---- checks on the tree ---- */

/* Find the string with the given ordinal, counting keys and values in the order of the text; *left counts down. */
static int check_nul(const struct tc_json *json, size_t *left, struct tc_error *err)
{
    struct tc_json child = {0};
    int r = 0;

    if (tc_json_type(json) == TC_JSON_STRING && --*left == 0)
        return tc_json_bad(json, err, "contains \\u0000");
    while (r == 0 && tc_json_next(json, &child)) {
        if (child.key != NULL && --*left == 0)
            return tc_json_bad(json, err, "a key contains \\u0000");
        r = check_nul(&child, left, err);
    }
    return r;
}

static int compare_keys(const void *a, const void *b)
{
    const cJSON *const *left = a, *const *right = b;

    return strcmp((*left)->string, (*right)->string);
}

static const char *few_keys_repeated(const cJSON *object)
{
    for (const cJSON *a = object->child; a != NULL; a = a->next)
        for (const cJSON *b = object->child; b != a; b = b->next)
            if (strcmp(a->string, b->string) == 0)
                return a->string;
    return NULL;
}

/* Find a key that stands twice among count members; *ret is NULL when there is none. */
static int repeated_key(const cJSON *object, size_t count, const char **ret)
{
    tc_auto_free const cJSON **members = NULL;
    size_t i = 0;

    *ret = count <= FEW_KEYS ? few_keys_repeated(object) : NULL;
    if (count <= FEW_KEYS)
        return 0;
    members = malloc(count * sizeof(*members));
    if (members == NULL)
        return -ENOMEM;
    for (const cJSON *member = object->child; member != NULL; member = member->next)
        members[i++] = member;
    qsort(members, count, sizeof(*members), compare_keys);
    for (i = 1; i < count && *ret == NULL; i++)
        if (strcmp(members[i - 1]->string, members[i]->string) == 0)
            *ret = members[i]->string;
    return 0;
}

static int check_keys(const struct tc_json *json, struct tc_error *err)
{
    struct tc_json child = {0};
    int r = 0;

    if (tc_json_type(json) == TC_JSON_OBJECT) {
        const char *key = NULL;

        r = repeated_key(json->item, tc_json_size(json), &key);
        if (r < 0)
            return tc_error_set(err, r, "check keys");
        if (key != NULL)
            return tc_json_bad(&(struct tc_json){.parent = json, .key = key}, err, "given twice");
    }
    while (r == 0 && tc_json_next(json, &child))
        r = check_keys(&child, err);
    return r;
}

/* ---- documents ---- */

static int document_fill(struct tc_json_document *document, const char *text, size_t length, const char *name,
                         struct tc_json *root, struct tc_error *err)
{
    tc_auto_free char *copy = malloc(length + 1);
    size_t nul = 0;
    int r;

    document->name = strdup(name);
    if (copy == NULL || document->name == NULL)
        return tc_error_set(err, -ENOMEM, "read %s", name);
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    r = tc_json_scan(text, copy, length, name, &nul, err);
    if (r == 0)
        r = cjson_open(err);
    if (r < 0)
        return r;
    document->root = cjson.parse(copy);
    if (document->root == NULL) /* the scan admits nothing that cJSON refuses */
        return tc_error_set(err, -ENOMEM, "parse %s", name);
    *root = (struct tc_json){.item = document->root, .key = document->name};
    if (nul > 0)
        return check_nul(root, &nul, err);
    return check_keys(root, err);
}

int tc_json_parse(const char *text, size_t length, const char *name, struct tc_json_document **ret,
                  struct tc_json *root, struct tc_error *err)
{
    tc_auto_json document = calloc(1, sizeof *document);
    int r;

    if (document == NULL)
        return tc_error_set(err, -ENOMEM, "read %s", name);
    r = document_fill(document, text, length, name, root, err);
    if (r < 0)
        return r;
    *ret = tc_take_ptr(document);
    return 0;
}

void tc_json_free(struct tc_json_document *document)
{
    if (document == NULL)
        return;
    if (document->root != NULL)
        cjson.delete(document->root);
    free(document->name);
    free(document);
}

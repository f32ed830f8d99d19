/* SPDX-License-Identifier: Apache-2.0 */
/* A machine without the JSON library, or with one that lacks what we call: dlopen() and dlsym() are wrapped. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "unit.h"

static enum { MISSING, STRANGE } library;

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *handle, const char *name);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *name, int flags)
{
    ck_assert_str_eq(name, "libcjson.so.1");
    ck_assert_int_eq(flags, RTLD_NOW | RTLD_LOCAL);
    return library == MISSING ? NULL : (void *)&library;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    ck_assert_ptr_eq(handle, &library);
    return strcmp(name, "cJSON_Parse") == 0 ? handle : NULL;
}

char *__wrap_dlerror(void)
{
    static char why[] = "it is not there";

    return why;
}

static void parse_fails(void)
{
    tc_auto_json document = NULL;
    struct tc_json root;
    struct tc_error err;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(tc_json_parse("{}", 2, "f", &document, &root, &err), -ELIBACC);
        ck_assert_str_eq(err.message, "load the JSON library: it is not there");
        ck_assert_str_eq(err.hint, "install libcjson1");
        ck_assert_int_eq(tc_json_parse("{}", 2, "f", &document, &root, NULL), -ELIBACC);
    }
    /* what is wrong with the text is told all the same */
    ck_assert_int_eq(tc_json_parse("{", 1, "f", &document, &root, &err), -EINVAL);
    ck_assert_ptr_null(document);
}

START_TEST(test_missing)
{
    library = MISSING;
    parse_fails();
}
END_TEST

START_TEST(test_strange)
{
    library = STRANGE;
    parse_fails();
}
END_TEST

int main(void)
{
    return unit_run(unit_suite("library", test_missing, test_strange, NULL));
}

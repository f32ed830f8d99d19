/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever bytes stand where a request is expected: either it is read, and then
 * what it says holds together, or one line says what is wrong with it.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_request(const struct tc_request *request)
{
    size_t total = 0;

    for (size_t i = 0; request->argv != NULL && request->argv[i] != NULL; i++)
        total += strlen(request->argv[i]);
    require(request->argv == NULL || request->argv[0] != NULL);
    for (size_t i = 0; i < request->env_count; i++)
        require(request->env[i].name[0] != '\0' && strchr(request->env[i].name, '=') == NULL &&
                request->env[i].value != NULL);
    for (size_t i = 0; i < request->mount_count; i++)
        require(request->mounts[i].source != NULL && request->mounts[i].target != NULL &&
                request->mounts[i].mode != TC_MODE_TXN);
    for (size_t i = 0; i < request->tmpfs_count; i++)
        require(request->tmpfs[i].target[0] == '/');
    require(request->stdin_mode != TC_STDIN_DATA || request->stdin_data != NULL);
    require(request->ask != TC_ASK_FD || request->ask_fd >= 0);
    require(total < (size_t)1 << 40);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tc_auto_invocation call = {0};
    struct tc_error err = {0};

    if (tc_invocation_init(&call, &err) < 0)
        return 0;
    if (tc_request_parse(&call, (const char *)data, size, "request", &err) == 0) {
        check_request(&call.request);
    } else {
        require(err.code < 0 && err.message[0] != '\0');
        require(strchr(err.message, '\n') == NULL);
    }
    return 0;
}

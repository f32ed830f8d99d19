/* SPDX-License-Identifier: Apache-2.0 */

/* What init says, as the supervisor reads it: a stream of packets, each a length byte and that many bytes. Whatever
 * comes, at most READY, LISTENER, then STARTED or FAILED, then EXITED are accepted. */

#include <stdint.h>
#include <stdlib.h>

#include "cell/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_init_reply reply = {0};
    unsigned last = 0;
    int accepted = 0;

    while (size > 0) {
        size_t length = data[0] < size ? data[0] : size - 1;

        if (tc_reply_check(data + 1, length, last, &reply) == 0) {
            last = reply.type;
            accepted++;
        }
        data += 1 + length;
        size -= 1 + length;
    }
    if (accepted > 4)
        abort();
    return 0;
}

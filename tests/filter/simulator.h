/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FILTER_SIMULATOR_H
#define TESTS_FILTER_SIMULATOR_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Run a classic BPF program on the description of one call, as the kernel
 * would. Instructions that seccomp does not know, reads outside of the data
 * and jumps outside of the program abort the test.
 * @return the action, SECCOMP_RET_*
 */
uint32_t simulate(const struct sock_filter *program, size_t count, const struct seccomp_data *data);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_INIT_IMAGE_H
#define TC_INIT_IMAGE_H

#include <stddef.h>

/** The executable of init, as it is put into a memfd. */
extern const unsigned char tc_init_image[];
extern const size_t tc_init_image_size;

#endif

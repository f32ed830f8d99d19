#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a file as a C array: embed.py INPUT OUTPUT."""
import pathlib
import sys

data = pathlib.Path(sys.argv[1]).read_bytes()
lines = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
pathlib.Path(sys.argv[2]).write_text(
    '/* Made from the init executable. */\n#include "init/image.h"\n\n'
    "__attribute__((aligned(16))) const unsigned char tc_init_image[] = {\n" + ",\n".join(lines)
    + "};\nconst size_t tc_init_image_size = sizeof tc_init_image;\n")

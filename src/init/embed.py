#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a file as a C array: embed.py INPUT OUTPUT SYMBOL HEADER."""
import pathlib
import sys

source, output, symbol, header = sys.argv[1:]
data = pathlib.Path(source).read_bytes()
lines = [", ".join(str(byte) for byte in data[i:i + 24]) for i in range(0, len(data), 24)]
pathlib.Path(output).write_text(
    f'/* Made from an executable. */\n#include "{header}"\n\n'
    f"__attribute__((aligned(16))) const unsigned char {symbol}[] = {{\n" + ",\n".join(lines)
    + f"}};\nconst size_t {symbol}_size = sizeof {symbol};\n")

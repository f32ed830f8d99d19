#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check what the child of a launch links to: it runs beside its parent in the same memory, so it may not use errno,
the heap or a stream. Arguments: the archives of the layers it uses. Prints TAP.
"""
import subprocess
import sys

# Objects that run on the child's side. What of them is the parent's alone is named below.
OBJECTS = {"child", "enter", "entry", "handover", "pty", "rules", "source", "target", "tree", "twin",  # cell
           "caps", "landlock", "mount", "netif", "openat2", "pidfd", "proc", "seccomp", "socket", "userns",  # kernel
           "error"}  # base
# Functions of the C library that touch nothing but their arguments. close() would set errno for a descriptor that is
# none, and the child closes only its own.
HARMLESS = {"bcmp", "close", "memchr", "memcmp", "memcpy", "memmove", "memset", "snprintf", "strchr", "strcmp",
            "strerrordesc_np", "strlen", "strncmp", "strnlen", "strrchr", "vsnprintf", "__cmsg_nxthdr",
            "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
PURE = {"tc_clone_shared", "tc_path_below", "tc_utf8_complete"}
PARENTS = {"netif": {"nlmsg_alloc_simple", "nlmsg_append", "nlmsg_free", "nlmsg_hdr"}}


def symbols(archives, kind):
    """Yield (object, symbol) for every symbol that the objects of archives ask for or define."""
    for archive in archives:
        name = None
        listing = subprocess.run(["nm", kind, archive], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in listing.splitlines():
            if line.endswith(":"):
                name = line.rstrip(":").rsplit("/", maxsplit=1)[-1].removesuffix(".c.o")
            elif line.strip():
                yield name, line.split()[-1]


def main(archives):
    asked = list(symbols(archives, "--undefined-only"))
    defined = list(symbols(archives, "--defined-only"))
    own = {symbol for name, symbol in defined if name in OBJECTS}
    missing = OBJECTS - {name for name, _ in defined}
    wrong = sorted({f"{name}: {symbol}" for name, symbol in asked
                    if name in OBJECTS and symbol not in HARMLESS | PURE | own | PARENTS.get(name, set())})
    # A check that sees nothing must not pass.
    control = any(symbol == "malloc" for _, symbol in asked)
    print("1..3")
    print("ok 1 - every object is there" if not missing else f"not ok 1 - no object {sorted(missing)}")
    print("ok 2 - other objects allocate" if control else "not ok 2 - no object allocates: nothing is seen")
    print("ok 3 - nothing but the arguments is touched" if not wrong else f"not ok 3 - {wrong}")
    return 1 if missing or wrong or not control else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

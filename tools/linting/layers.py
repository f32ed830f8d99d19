# SPDX-License-Identifier: Apache-2.0
"""Layers: arrows point downwards only, and no cycle among headers."""
import re

# What each directory of src/ may include besides itself; a name with a slash is one header.
MAY_INCLUDE = {
    "base": set(),
    "kernel": {"base"},
    "systemd": {"kernel", "base"},
    "policy": {"base"},
    "init": {"kernel/raw.h", "kernel/clone.h"},  # without a C library: only what needs none
    "plan": {"policy", "systemd", "kernel", "base"},
    "cell": {"plan", "kernel", "base", "init/protocol.h", "init/image.h"},
    "broker": {"plan", "policy", "kernel", "base"},
    "supervise": {"broker", "cell", "plan", "policy", "kernel", "base", "init/protocol.h"},
    "doctor": {"broker", "cell", "plan", "policy", "systemd", "kernel", "base", "init/protocol.h", "init/image.h"},
    "cli": {"supervise", "doctor", "cell", "plan", "policy", "systemd", "kernel", "base"},
}
# System headers that speak of what a pure layer must not do.
KERNEL_HEADER = re.compile(
    r"^(sched|signal|spawn|seccomp)\.h$|^(linux|asm|netlink|libcgroup)/|"
    r"^sys/(mount|socket|wait|syscall|prctl|capability|epoll|ptrace|timerfd|signalfd|inotify|fsuid|xattr)\.h$")
PURE = ("policy",)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)


def includes(tree, name):
    """Yield (line, is_local, target) for each #include of a file."""
    text = tree.text(name) or ""
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == '"', match.group(2)


def check_file(tree, name, layer, extra=frozenset()):
    """Return what a file includes and may not."""
    findings = []
    for line, local, target in includes(tree, name):
        other = target.split("/")[0]
        if not local:
            if layer in PURE and not extra and KERNEL_HEADER.search(target):
                findings.append(f"{name}:{line}: {layer} is pure and may not use <{target}>")
        elif other not in MAY_INCLUDE:
            generated_or_own = "/" not in target or extra
            if not generated_or_own:
                findings.append(f"{name}:{line}: '{target}' is not in a layer")
        elif other not in MAY_INCLUDE[layer] | extra | {layer} and target not in MAY_INCLUDE[layer]:
            findings.append(f"{name}:{line}: {layer} may not include '{target}'")
    return findings


def cycles(tree, names):
    """Return include cycles among the headers of src/, each once."""
    graph = {name[4:]: [target for _, local, target in includes(tree, name) if local] for name in names}
    state, found = {}, []

    def visit(node, path):
        state[node] = "open"
        for target in graph.get(node, []):
            if state.get(target) == "open":
                found.append("cycle: " + " -> ".join(path[path.index(target):] + [target]))
            elif target in graph and target not in state:
                visit(target, path + [target])
        state[node] = "done"

    for node in graph:
        if node not in state:
            visit(node, [node])
    return found


def layer_cycles():
    """Return a finding when the table above is itself not a downward order."""
    done = set()
    while len(done) < len(MAY_INCLUDE):
        ready = [layer for layer, may in MAY_INCLUDE.items()
                 if layer not in done and {entry for entry in may if "/" not in entry} <= done]
        if not ready:
            return ["the table of layers has a cycle"]
        done.update(ready)
    return []


def check(tree):
    """Check sources and the tests beside them."""
    findings = layer_cycles()
    sources = tree.under("src", ".c", ".h", ".S")
    for name in sources:
        layer = name.split("/")[1]
        if layer not in MAY_INCLUDE:
            findings.append(f"{name}: '{layer}' is not a layer")
        else:
            findings += check_file(tree, name, layer)
    for name in tree.under("tests/unit", ".c", ".h"):
        layer = name.split("/")[2]
        if layer in MAY_INCLUDE:
            findings += check_file(tree, name, layer, extra=frozenset({"base"}))
    findings += cycles(tree, [name for name in sources if name.endswith(".h")])
    return findings, []

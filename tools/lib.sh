# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Functions shared by the scripts in tools/. Sourced, never run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What the release binary is built from.
# shellcheck disable=SC2034 # used by the scripts that source this
packages_build=(gcc libc6-dev linux-libc-dev meson ninja-build pkg-config python3 libseccomp-dev
    libnl-3-dev libcjson-dev libcjson1 libsystemd-dev libsystemd0 nettle-dev scdoc)
# What tests, lint and benchmarks need on top.
# shellcheck disable=SC2034
packages_check=(git clang clang-format clang-tidy libclang-rt-14-dev cppcheck check python3-pytest python3-jsonschema
    libpython3.11-testsuite python3-venv
    strace valgrind bubblewrap busybox-static nodejs make e2fsprogs file util-linux passwd procps iproute2 mandoc shellcheck
    zsh fish qemu-system-x86 cpio systemd stress-ng)

say()
{
    printf '%s\n' "$*"
}

die()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Seconds since the epoch with milliseconds, and the difference of two such times for people.
now()
{
    date +%s.%N
}

elapsed()
{
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f s", b - a }'
}

# Names of the given Debian packages that are not installed.
missing_packages()
{
    local name
    for name in "$@"; do
        # What a package of another source provides (node, a newer clang) counts as well.
        dpkg-query -W -f='${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || printf '%s\n' "$name"
    done
}

apt_install()
{
    # No terminal may be asked for anything, and a package manager at work elsewhere is waited for.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        install --no-install-recommends "$@"
}

# Install what is missing of the given Debian packages; the package lists are fetched only when they lack one of them.
install_packages()
{
    local missing log as_root=()
    mapfile -t missing < <(missing_packages "$@")
    if [ "${#missing[@]}" -eq 0 ]; then
        say "packages: all $# are there"
        return 0
    fi
    command -v apt-get >/dev/null || die "needs the Debian packages ${missing[*]}, and there is no apt-get here"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || die "needs Debian packages; as root: apt-get install ${missing[*]}"
        as_root=(sudo -n)
    fi
    say "packages: installing ${missing[*]}"
    log=$(mktemp)
    if ! apt_install "${missing[@]}" >"$log" 2>&1 </dev/null; then
        if ! { "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update && apt_install "${missing[@]}"; } \
            >"$log" 2>&1 </dev/null; then
            tail -n 20 "$log" >&2
            rm -f "$log"
            die "could not install ${missing[*]}"
        fi
    fi
    rm -f "$log"
}

# meson_setup DIRECTORY OPTION...: configure a build directory once; ninja reconfigures it when a build file changes.
meson_setup()
{
    local directory=$1
    shift
    [ ! -f "$directory/build.ninja" ] || return 0
    rm -rf "$directory" # left by a configuration that failed
    meson setup "$directory" "$top" "$@"
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make a tiny root file system for `toolcell run --rootfs DIR` from the host's busybox-static. See README.md here.
set -eu

usage="usage: rootfs/busybox.sh DIR
Makes DIR, which must not exist or be empty, a root file system with busybox and its commands (about 2 MiB).
Needs the Debian package busybox-static, or BUSYBOX=PATH naming a statically linked busybox. No root needed."

die()
{
    printf 'busybox.sh: %s\n' "$*" >&2
    exit 1
}

case ${1-} in
    -h | --help) printf '%s\n' "$usage" && exit 0 ;;
    '' | -*) printf '%s\n' "$usage" >&2 && exit 2 ;;
esac
[ $# -eq 1 ] || { printf '%s\n' "$usage" >&2 && exit 2; }

root=$1
busybox=${BUSYBOX:-$(command -v busybox || true)}
[ -n "$busybox" ] || die "no busybox here; as root: apt-get install busybox-static"
# A dynamic one would look for libraries that the new root does not have.
if LC_ALL=C ldd "$busybox" >/dev/null 2>&1; then
    die "$busybox is linked dynamically; install busybox-static"
fi
mkdir -p "$root"
[ -z "$(ls -A "$root")" ] || die "'$root' is not empty"

umask 022
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/etc"
for name in bin sbin lib; do
    ln -s "usr/$name" "$root/$name"
done
cp "$busybox" "$root/usr/bin/busybox"
chmod 755 "$root/usr/bin/busybox"
"$busybox" --list | while read -r name; do
    # Every command in one directory, so that it is found whatever PATH says first.
    [ "$name" = busybox ] || ln -s busybox "$root/usr/bin/$name"
done
printf '/bin/sh\n' >"$root/etc/shells"
printf 'NAME=busybox\nID=busybox\n' >"$root/etc/os-release"
printf 'made %s: %s commands\n' "$root" "$(find "$root/usr/bin" -type l | wc -l)"

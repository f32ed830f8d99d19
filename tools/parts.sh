# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# The parts of tools/check: one function each, run in this order. Sourced after lib.sh; $top and $logs are the caller's.
# A part fails by its exit status. It may leave its runner's closing line and its counts for the caller.

# shellcheck disable=SC2034 # read by tools/check
parts=(lint tools gcc unit man system escape missing cpython vm clang tidy cppcheck valgrind sanitize fuzz cost)
declare -A part_about=(
    [lint]="tools/lint: layers, format, sizes, banned functions, schemas, scripts, commit subjects"
    [tools]="tests of the lint and of what counts tests"
    [gcc]="release build with gcc, warnings as errors"
    [unit]="unit, filter, golden and fuzz-corpus tests"
    [man]="man pages build and pass mandoc's lint"
    [system]="system suite, as an ordinary user and, where we are root, as root too"
    [escape]="escape suite: what hostile code tries, each attempt with a control that must succeed"
    [missing]="with --long: system tests on hosts that lack one system call, call by call"
    [cpython]="CPython's own tests give the same in a cell as outside, static and mediated (with --long: of processes, sockets and threads too)"
    [vm]="tests under Debian's own kernel, as root and as a user, in virtual machines (with --long: both whole suites)"
    [clang]="build with clang, warnings as errors, and its unit tests"
    [tidy]="clang-tidy"
    [cppcheck]="cppcheck"
    [valgrind]="policy suite under valgrind"
    [sanitize]="address and undefined-behaviour sanitizers: unit tests and a system smoke, launched by fork"
    [cost]="with --long: what mediation costs (a missed aim is no failure)"
    [fuzz]="fuzz targets under sanitizers (with --long: two minutes each)"
)

list_parts()
{
    local part
    for part in "${parts[@]}"; do
        printf '  %-12s %s\n' "$part" "${part_about[$part]}"
    done
}

# meson_tests PART BUILD ARGUMENT...: run meson's tests, leave the closing line and the counts of single tests.
meson_tests()
{
    local part=$1 build=$2 status=0
    local log=$build/meson-logs/testlog${wrapper_name:+-$wrapper_name}.json
    shift 2
    rm -f "$log"
    meson test -C "$build" --no-rebuild --print-errorlogs "$@" || status=$?
    [ -s "$log" ] || { say "no tests were run"; return 1; }
    python3 "$top/tools/count_tests.py" "$log" "$logs/$part.counts" "$logs/$part.closing"
    [ "$TOOLCELL_MUST_WORK" != 1 ] || ! read_skips "$part" || { say "skipped tests, and all must work"; status=1; }
    return "$status"
}

# True when the counts of a part include skips.
read_skips()
{
    [ "$(cut -d' ' -f3 "$logs/$1.counts")" -gt 0 ]
}

# pytest_counts PART LOG: the same for pytest, from its last line.
pytest_counts()
{
    local line
    line=$(grep -aE '^=* ?[0-9]+ (passed|failed|skipped|error|deselected).* in [0-9.]+s' "$2" | tail -n 1)
    line=$(sed -E 's/^=+ //; s/ =+$//' <<<"$line")
    printf '%s\n' "${line:-pytest said nothing}" >"$logs/$1.closing"
    local number word
    local -A count=()
    while read -r number word; do
        count[$word]=$number
    done < <(grep -oE '[0-9]+ [a-z]+' <<<"$line")
    printf '%d %d %d\n' "${count[passed]:-0}" $((${count[failed]:-0} + ${count[error]:-0} + ${count[errors]:-0})) \
        "${count[skipped]:-0}" >"$logs/$1.counts"
}

# sum_counts PART RUN RUN: a part of two runs has the sum of their counts and both closing lines.
sum_counts()
{
    paste -d' ' "$logs/$2.counts" "$logs/$3.counts" | awk '{ print $1 + $4, $2 + $5, $3 + $6 }' >"$logs/$1.counts"
    printf '%s; %s\n' "$(cat "$logs/$2.closing")" "$(cat "$logs/$3.closing")" >"$logs/$1.closing"
}

# system_suite PART BINARY TEST...: run system tests against a binary.
system_suite()
{
    local part=$1 binary=$2 status=0
    shift 2
    [ "$TOOLCELL_LONG" != 1 ] || set -- --long "$@"
    # Debian's own interpreter, which has the packages installed above, whatever comes first in PATH.
    TOOLCELL="$top/$binary" PYTHONDONTWRITEBYTECODE=1 timeout -k 10 "${suite_seconds:-1200}" \
        /usr/bin/python3 -m pytest -p no:cacheprovider -q -rfEs --durations=10 "$@" \
        >"$logs/$part.pytest" 2>&1 || status=$?
    cat "$logs/$part.pytest"
    pytest_counts "$part" "$logs/$part.pytest"
    [ "$TOOLCELL_MUST_WORK" != 1 ] || ! read_skips "$part" || { say "skipped tests, and all must work"; status=1; }
    return "$status"
}

part_lint()
{
    "$top/tools/lint"
}

part_tools()
{
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -p no:cacheprovider -q tests/tools 2>&1 | tee "$logs/tools.pytest"
    pytest_counts tools "$logs/tools.pytest"
    [ "$(cut -d' ' -f2 "$logs/tools.counts")" -eq 0 ] && [ "$(cut -d' ' -f1 "$logs/tools.counts")" -gt 0 ]
}

part_gcc()
{
    CC=gcc meson_setup build-gcc -Dwerror=true -Dtests=enabled
    ninja -C build-gcc
}

part_unit()
{
    part_gcc
    meson_tests unit build-gcc
}

part_man()
{
    local pages
    part_gcc
    mapfile -t pages < <(find build-gcc/man -name '*.[1-8]')
    [ ${#pages[@]} -gt 0 ] || { say "no man pages were built"; return 1; }
    # Warnings count, but for the empty paragraphs that scdoc puts everywhere.
    if mandoc -T lint -W warning "${pages[@]}" | grep -v 'skipping paragraph macro'; then
        return 1
    fi
    say "${#pages[@]} pages"
}

part_system()
{
    part_gcc
    if [ "$(id -u)" -ne 0 ]; then
        say "not root: what toolcell does for root is not tested"
        [ "$TOOLCELL_MUST_WORK" != 1 ] || return 1
    fi
    system_suite system build-gcc/toolcell tests/system
}

part_escape()
{
    local suite_seconds=$((TOOLCELL_LONG == 1 ? 5400 : 1200)) # 10^5 rounds of each race
    part_gcc
    system_suite escape build-gcc/toolcell tests/escape
}

part_cpython()
{
    local suite_seconds=3600
    part_gcc
    system_suite cpython build-gcc/toolcell tests/cpython
}

# One system call taken away at a time: the first and the last steps of a launch that need one, what only the cell's init
# needs, and two that have a substitute. The files are those in which the most happens to a call; all would take an hour.
missing_calls=(openat2:ENOSYS open_tree:EPERM mount_setattr:ENOSYS landlock_restrict_self:EPERM memfd_create:EPERM
    "seccomp for a filter:ENOSYS" "prctl of dumpable:EPERM" setsid:EPERM pidfd_send_signal:ENOSYS statx:ENOSYS)
missing_tests=(test_cases test_lifetime test_mounts test_signals test_status)

part_missing()
{
    local call name i status=0 sums=(0 0 0) counts tests=("${missing_tests[@]/%/.py}")
    if [ "$TOOLCELL_LONG" != 1 ]; then
        say "only with --long"
        return
    fi
    part_gcc
    for call in "${missing_calls[@]}"; do
        name=missing-${call//[ :]/-}
        # Without --long of pytest: what takes long there is repetition.
        TOOLCELL_WITHOUT=$call TOOLCELL_LONG=0 suite_seconds=600 \
            system_suite "$name" build-gcc/toolcell "${tests[@]/#/tests/system/}" || status=1
        read -ra counts <"$logs/$name.counts"
        for i in 0 1 2; do sums[i]=$((sums[i] + counts[i])); done
    done
    printf '%d %d %d\n' "${sums[@]}" >"$logs/missing.counts"
    printf '%d calls taken away, %d passed, %d failed\n' "${#missing_calls[@]}" "${sums[0]}" "${sums[1]}" \
        >"$logs/missing.closing"
    return "$status"
}

part_vm()
{
    local status=0 caller tests=()
    part_gcc
    [ "$TOOLCELL_LONG" != 1 ] || tests=(tests/system tests/escape)
    # An older kernel lacks a little of what the tests ask for: what all must work is the host of the other parts.
    TOOLCELL_MUST_WORK=0 TOOLCELL_VM_TIMEOUT=$((TOOLCELL_LONG == 1 ? 7200 : 1200)) \
        tests/vm/suite build-gcc/toolcell "${tests[@]}" >"$logs/vm.pytest" 2>&1 || status=$?
    cat "$logs/vm.pytest"
    if [ "$status" -ne 0 ]; then # two machines spoke at the same time: once more what failed, equal lines once
        say "what failed:"
        grep -aE '^(root|user): (E  |ERROR |FAILED )' "$logs/vm.pytest" | sort | uniq -c | sort -rn | head -n 25 || true
    fi
    for caller in root user; do
        sed -n "s/^$caller: //p" "$logs/vm.pytest" >"$logs/vm-$caller.pytest"
        pytest_counts "vm-$caller" "$logs/vm-$caller.pytest"
    done
    sum_counts vm vm-root vm-user
    return "$status"
}

part_clang()
{
    CC=clang meson_setup build-clang -Dwerror=true -Dtests=enabled
    ninja -C build-clang
    meson_tests clang build-clang
}

c_sources()
{
    find src -name '*.c' -print | sort
}

part_tidy()
{
    CC=clang meson_setup build-clang -Dwerror=true -Dtests=enabled
    ninja -C build-clang
    c_sources | timeout -k 5 900 xargs -P "$(nproc)" -n 1 clang-tidy -quiet -p build-clang --warnings-as-errors='*'
    say "$(c_sources | wc -l) files"
}

part_cppcheck()
{
    timeout -k 5 600 cppcheck --std=c11 --language=c -j "$(nproc)" --quiet --error-exitcode=1 --inline-suppr \
        --enable=warning,performance,portability --suppressions-list=tools/cppcheck.suppressions \
        -D_GNU_SOURCE -D__linux__ -D__x86_64__ -D__GNUC__=12 -Isrc src
}

part_valgrind()
{
    part_gcc
    wrapper_name=valgrind CK_FORK=no meson_tests valgrind build-gcc --suite policy -t 20 \
        --wrapper='valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite'
}

# Memory that runs out is an error code here, and tests ask for more than there can be.
sanitizer_options()
{
    export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
}

part_sanitize()
{
    local tests=(tests/system/test_cases.py tests/system/test_tools.py) suite_seconds=1200 status=0
    # No -Dwerror: the instrumented code makes gcc see faults that the plain builds, which refuse warnings, do not have.
    CC=gcc meson_setup build-asan -Dtests=enabled -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Dlaunch=fork
    ninja -C build-asan
    sanitizer_options
    meson_tests sanitize-unit build-asan -t 5
    if [ "$TOOLCELL_LONG" = 1 ]; then
        # The long races are those of the part "escape": here they would take hours.
        tests=(tests/system tests/escape -k 'not (test_mediation_race and many)') suite_seconds=3600
        ASAN_OPTIONS+=:detect_leaks=0 # many tests take away what the search for leaks needs, a clone or ptrace
    fi
    system_suite sanitize-system build-asan/toolcell "${tests[@]}" || status=$?
    sum_counts sanitize sanitize-unit sanitize-system
    return "$status"
}

# Each target starts from a copy of its corpus, so that what it finds does not change the checkout.
part_fuzz()
{
    local target name seconds=5 found=0
    [ "$TOOLCELL_LONG" != 1 ] || seconds=120
    CC=clang meson_setup build-fuzz -Dfuzz=true -Dtests=enabled -Dbuildtype=debugoptimized -Db_sanitize=address,undefined \
        -Db_lundef=false -Dlaunch=fork
    ninja -C build-fuzz
    sanitizer_options
    for target in build-fuzz/tests/fuzz/fuzz-*; do
        if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
        name=${target##*/fuzz-}
        rm -rf "build-fuzz/corpus-$name"
        mkdir "build-fuzz/corpus-$name"
        find tests/fuzz -path "*/corpus/$name/*" -type f -exec cp -t "build-fuzz/corpus-$name" {} +
        say "$name: $seconds s"
        "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
            -artifact_prefix="build-fuzz/$name-" "build-fuzz/corpus-$name"
        found=$((found + 1))
    done
    printf '%d targets, %d s each\n' "$found" "$seconds" >"$logs/fuzz.closing"
    [ "$found" -gt 0 ]
}

part_cost()
{
    if [ "$TOOLCELL_LONG" != 1 ]; then
        say "only with --long"
        return
    fi
    part_gcc
    tools/bench --mediation --binary build-gcc/toolcell --opens build-gcc/tests/bench/opens | tee "$logs/cost.report"
    printf '%d aims reached, %d missed\n' "$(grep -c ' reached$' "$logs/cost.report")" \
        "$(grep -c ' missed$' "$logs/cost.report")" >"$logs/cost.closing"
}

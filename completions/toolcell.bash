# SPDX-License-Identifier: Apache-2.0
# Made by tools/completions from the option table.
# shellcheck shell=bash

# The options of a verb.
_toolcell_options()
{
    case $1 in
    'run') echo '-p --policy --policy-fd --project-policy -w --workspace -m --mount --tmpfs -r --rootfs --cwd --env --pass-env --net --timeout --cpu-time --cpus --memory --pids --output-limit --disk --file-size --open-files --grace --stdin --tty --json --events-fd --ask --keep-going --no-daemon --label --session --request --allow-degraded --user -q --quiet -v --verbose -h --help' ;;
    'policy check') echo '-w --workspace -m --mount --json -h --help' ;;
    'policy explain') echo '-p --policy --policy-fd --project-policy -w --workspace -m --mount --tmpfs -r --rootfs --cwd --env --pass-env --net --timeout --cpu-time --cpus --memory --pids --output-limit --disk --file-size --open-files --grace --stdin --tty --json --events-fd --ask --keep-going --no-daemon --label --session --request --allow-degraded --user -q --quiet -v --verbose -h --help' ;;
    'policy plan') echo '-p --policy --policy-fd --project-policy -w --workspace -m --mount --tmpfs -r --rootfs --cwd --env --pass-env --net --timeout --cpu-time --cpus --memory --pids --output-limit --disk --file-size --open-files --grace --stdin --tty --json --events-fd --ask --keep-going --no-daemon --label --session --request --allow-degraded --user -q --quiet -v --verbose -h --help' ;;
    'policy show') echo '-p --policy --policy-fd --project-policy -w --workspace -m --mount --tmpfs -r --rootfs --cwd --env --pass-env --net --timeout --cpu-time --cpus --memory --pids --output-limit --disk --file-size --open-files --grace --stdin --tty --json --events-fd --ask --keep-going --no-daemon --label --session --request --allow-degraded --user -q --quiet -v --verbose -h --help' ;;
    'doctor') echo '--selftest --json -h --help' ;;
    esac
}

# The options of all verbs that take the next word as their value.
_toolcell_takes_value()
{
    case $1 in
    -p | --policy | --policy-fd | -w | --workspace | -m | --mount | --tmpfs | -r | --rootfs | --cwd | --env | --pass-env | --net | --timeout | --cpu-time | --cpus | --memory | --pids | --output-limit | --disk | --file-size | --open-files | --grace | --stdin | --events-fd | --ask | --label | --session | --request | --user) return 0 ;;
    esac
    return 1
}

# Values of an option: words, then after a colon what kind of file.
_toolcell_values()
{
    case $1 in
    -p | --policy) echo 'default git permissive readonly strict workspace:file' ;;
    -w | --workspace) echo ':directory' ;;
    -m | --mount) echo ':directory' ;;
    -r | --rootfs) echo 'host:directory' ;;
    --net) echo 'none egress host:' ;;
    --stdin) echo 'none inherit:' ;;
    --ask) echo 'deny tty fd:' ;;
    --request) echo ':file' ;;
    esac
}

# Complete a value.
_toolcell_value()
{
    local known kind=
    known=$(_toolcell_values "$1")
    case $known in
    *:directory) kind=-d ;;
    *:file) kind=-f ;;
    esac
    mapfile -t COMPREPLY < <(compgen ${kind:+"$kind"} -W "${known%:*}" -- "$2")
    [ -z "$kind" ] || compopt -o filenames
}

_toolcell()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} at=2 i
    COMPREPLY=()
    # bash takes "=" for a word of its own.
    if [ "$word" = = ]; then
        word=
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "run policy doctor help --help --version" -- "$word")
        return
    fi
    if [ "$verb" = policy ] || { [ "$verb" = help ] && [ "${COMP_WORDS[2]}" = policy ] && [ "$COMP_CWORD" -gt 2 ]; }; then
        at=3
        [ "$verb" = policy ] || at=4
        if [ "$COMP_CWORD" -eq $((at - 1)) ]; then
            mapfile -t COMPREPLY < <(compgen -W "check explain plan show" -- "$word")
            return
        fi
        verb="policy ${COMP_WORDS[2]}"
    elif [ "$verb" = help ]; then
        [ "$COMP_CWORD" -ne 2 ] || mapfile -t COMPREPLY < <(compgen -W "run policy doctor help" -- "$word")
        return
    fi
    for ((i = at; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ]; then
            at=-$((i + 1))
            break
        elif [[ ${COMP_WORDS[i]} != -* ]]; then
            at=-$i
            break
        elif [ "${COMP_WORDS[i + 1]}" = = ]; then
            i=$((i + 2))
        elif _toolcell_takes_value "${COMP_WORDS[i]}"; then
            i=$((i + 1))
        fi
    done
    if [ "$at" -gt 0 ] && { [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ] || [ "${COMP_WORDS[COMP_CWORD]}" = = ] || _toolcell_takes_value "$before"; }; then
        _toolcell_value "$before" "$word"
    elif [ "$at" -gt 0 ] && [[ $word = -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_toolcell_options "$verb")" -- "$word")
    elif [ "$verb" = run ] && { [ "$at" -gt 0 ] || [ "$COMP_CWORD" -eq "${at#-}" ]; }; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
    elif [ "$verb" = "policy explain" ] && { [ "$at" -gt 0 ] || [ "$COMP_CWORD" -eq "${at#-}" ]; }; then
        mapfile -t COMPREPLY < <(compgen -W "read list write edit execute connect" -- "$word")
    elif [ "$verb" = "policy check" ] || [ "$verb" = "policy show" ]; then
        _toolcell_value --policy "$word"
    elif [ "$verb" != doctor ]; then
        compopt -o default
    fi
}

complete -F _toolcell toolcell

# SPDX-License-Identifier: Apache-2.0
# Made by tools/completions from the option table.

# True when the words so far are toolcell and these.
function __toolcell_verb
    set -l words (commandline -opc)[2..-1]
    for word in $argv
        test "$words[1]" = $word; or return 1
        set -e words[1]
    end
end

# True when no verb is there yet.
function __toolcell_first
    test (count (commandline -opc)) -eq 1
end

# True when a verb below the group is wanted.
function __toolcell_second
    __toolcell_verb policy; and test (count (commandline -opc)) -eq 2
end

complete -c toolcell -f
complete -c toolcell -n __toolcell_first -s h -l help -d 'print the verbs'
complete -c toolcell -n __toolcell_first -l version -d 'print the version'
complete -c toolcell -n '__toolcell_verb help' -a 'run policy doctor help'
complete -c toolcell -n __toolcell_first -a run -d 'run one tool call in a cell'
complete -c toolcell -n __toolcell_first -a policy -d 'ask about rules'
complete -c toolcell -n __toolcell_first -a doctor -d 'tell what this host can enforce, and the remedy for what it cannot'
complete -c toolcell -n __toolcell_first -a help -d 'tell about all verbs, or one'
complete -c toolcell -n __toolcell_second -a check -d 'read a policy and tell what may not mean what it says'
complete -c toolcell -n __toolcell_second -a explain -d 'tell what the rules say about one operation, and why'
complete -c toolcell -n __toolcell_second -a plan -d 'print what a call compiles to'
complete -c toolcell -n __toolcell_second -a show -d 'print the effective rules as one policy file'

complete -c toolcell -n '__toolcell_verb run' -s p -l policy -d 'the rules: a preset, a policy by name, or a file (default workspace)' -r -F -a 'default git permissive readonly strict workspace'
complete -c toolcell -n '__toolcell_verb run' -l policy-fd -d 'read the policy from descriptor N' -x
complete -c toolcell -n '__toolcell_verb run' -l project-policy -d 'let .toolcell.json at the workspace\'s root tighten the rules'
complete -c toolcell -n '__toolcell_verb run' -s w -l workspace -d 'the tree to work on (default: the current directory, rw, as /workspace)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb run' -s m -l mount -d 'one more tree of the host (default ro)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb run' -l tmpfs -d 'one more scratch directory' -x
complete -c toolcell -n '__toolcell_verb run' -s r -l rootfs -d 'where the system comes from (default host)' -x -a 'host (__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb run' -l cwd -d 'directory in the cell to start in (default: the caller\'s place in the workspace)' -x
complete -c toolcell -n '__toolcell_verb run' -l env -d 'set a variable' -x
complete -c toolcell -n '__toolcell_verb run' -l pass-env -d 'pass a variable of the caller' -x
complete -c toolcell -n '__toolcell_verb run' -l net -d 'the network (default none)' -x -a 'none egress host'
complete -c toolcell -n '__toolcell_verb run' -l timeout -d 'end the call after this time' -x
complete -c toolcell -n '__toolcell_verb run' -l cpu-time -d 'end the call after this much CPU time' -x
complete -c toolcell -n '__toolcell_verb run' -l cpus -d 'how many CPUs it may keep busy' -x
complete -c toolcell -n '__toolcell_verb run' -l memory -d 'memory of all its processes' -x
complete -c toolcell -n '__toolcell_verb run' -l pids -d 'processes and threads (default 512)' -x
complete -c toolcell -n '__toolcell_verb run' -l output-limit -d 'output that is kept; with :stop the call ends there' -x
complete -c toolcell -n '__toolcell_verb run' -l disk -d 'all scratch together (default 1G)' -x
complete -c toolcell -n '__toolcell_verb run' -l file-size -d 'largest file (default: as --disk)' -x
complete -c toolcell -n '__toolcell_verb run' -l open-files -d 'open files of a process (default 1024)' -x
complete -c toolcell -n '__toolcell_verb run' -l grace -d 'between TERM and KILL when cancelled (default 2s)' -x
complete -c toolcell -n '__toolcell_verb run' -l stdin -d 'what the command reads (none with --json or on a terminal)' -x -a 'none inherit'
complete -c toolcell -n '__toolcell_verb run' -l tty -d 'give the command a terminal'
complete -c toolcell -n '__toolcell_verb run' -l json -d 'events and the result as JSON lines on stdout'
complete -c toolcell -n '__toolcell_verb run' -l events-fd -d 'events and the result as JSON lines on descriptor N' -x
complete -c toolcell -n '__toolcell_verb run' -l ask -d 'who answers what the rules ask (default deny)' -x -a 'deny tty fd'
complete -c toolcell -n '__toolcell_verb run' -l keep-going -d 'run on when the reader of the output is gone'
complete -c toolcell -n '__toolcell_verb run' -l no-daemon -d 'never use a running daemon'
complete -c toolcell -n '__toolcell_verb run' -l label -d 'a label that comes back in the events' -x
complete -c toolcell -n '__toolcell_verb run' -l session -d 'run in a session' -x
complete -c toolcell -n '__toolcell_verb run' -l request -d 'read the request as JSON; options beside it win' -r -F
complete -c toolcell -n '__toolcell_verb run' -l allow-degraded -d 'run although a part cannot be enforced (without a name: any part)'
complete -c toolcell -n '__toolcell_verb run' -l user -d 'identity on the host (root only)' -x
complete -c toolcell -n '__toolcell_verb run' -s q -l quiet -d 'tell nothing about denials'
complete -c toolcell -n '__toolcell_verb run' -s v -l verbose -d 'tell more'
complete -c toolcell -n '__toolcell_verb run' -s h -l help -d 'print this help'

complete -c toolcell -n '__toolcell_verb policy check' -s w -l workspace -d 'the tree to compare with (default: the current directory)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy check' -s m -l mount -d 'one more tree of the host' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy check' -l json -d 'print one JSON object'
complete -c toolcell -n '__toolcell_verb policy check' -s h -l help -d 'print this help'

complete -c toolcell -n '__toolcell_verb policy explain' -s p -l policy -d 'the rules: a preset, a policy by name, or a file (default workspace)' -r -F -a 'default git permissive readonly strict workspace'
complete -c toolcell -n '__toolcell_verb policy explain' -l policy-fd -d 'read the policy from descriptor N' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l project-policy -d 'let .toolcell.json at the workspace\'s root tighten the rules'
complete -c toolcell -n '__toolcell_verb policy explain' -s w -l workspace -d 'the tree to work on (default: the current directory, rw, as /workspace)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy explain' -s m -l mount -d 'one more tree of the host (default ro)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy explain' -l tmpfs -d 'one more scratch directory' -x
complete -c toolcell -n '__toolcell_verb policy explain' -s r -l rootfs -d 'where the system comes from (default host)' -x -a 'host (__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy explain' -l cwd -d 'directory in the cell to start in (default: the caller\'s place in the workspace)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l env -d 'set a variable' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l pass-env -d 'pass a variable of the caller' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l net -d 'the network (default none)' -x -a 'none egress host'
complete -c toolcell -n '__toolcell_verb policy explain' -l timeout -d 'end the call after this time' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l cpu-time -d 'end the call after this much CPU time' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l cpus -d 'how many CPUs it may keep busy' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l memory -d 'memory of all its processes' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l pids -d 'processes and threads (default 512)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l output-limit -d 'output that is kept; with :stop the call ends there' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l disk -d 'all scratch together (default 1G)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l file-size -d 'largest file (default: as --disk)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l open-files -d 'open files of a process (default 1024)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l grace -d 'between TERM and KILL when cancelled (default 2s)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l stdin -d 'what the command reads (none with --json or on a terminal)' -x -a 'none inherit'
complete -c toolcell -n '__toolcell_verb policy explain' -l tty -d 'give the command a terminal'
complete -c toolcell -n '__toolcell_verb policy explain' -l json -d 'events and the result as JSON lines on stdout'
complete -c toolcell -n '__toolcell_verb policy explain' -l events-fd -d 'events and the result as JSON lines on descriptor N' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l ask -d 'who answers what the rules ask (default deny)' -x -a 'deny tty fd'
complete -c toolcell -n '__toolcell_verb policy explain' -l keep-going -d 'run on when the reader of the output is gone'
complete -c toolcell -n '__toolcell_verb policy explain' -l no-daemon -d 'never use a running daemon'
complete -c toolcell -n '__toolcell_verb policy explain' -l label -d 'a label that comes back in the events' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l session -d 'run in a session' -x
complete -c toolcell -n '__toolcell_verb policy explain' -l request -d 'read the request as JSON; options beside it win' -r -F
complete -c toolcell -n '__toolcell_verb policy explain' -l allow-degraded -d 'run although a part cannot be enforced (without a name: any part)'
complete -c toolcell -n '__toolcell_verb policy explain' -l user -d 'identity on the host (root only)' -x
complete -c toolcell -n '__toolcell_verb policy explain' -s q -l quiet -d 'tell nothing about denials'
complete -c toolcell -n '__toolcell_verb policy explain' -s v -l verbose -d 'tell more'
complete -c toolcell -n '__toolcell_verb policy explain' -s h -l help -d 'print this help'

complete -c toolcell -n '__toolcell_verb policy plan' -s p -l policy -d 'the rules: a preset, a policy by name, or a file (default workspace)' -r -F -a 'default git permissive readonly strict workspace'
complete -c toolcell -n '__toolcell_verb policy plan' -l policy-fd -d 'read the policy from descriptor N' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l project-policy -d 'let .toolcell.json at the workspace\'s root tighten the rules'
complete -c toolcell -n '__toolcell_verb policy plan' -s w -l workspace -d 'the tree to work on (default: the current directory, rw, as /workspace)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy plan' -s m -l mount -d 'one more tree of the host (default ro)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy plan' -l tmpfs -d 'one more scratch directory' -x
complete -c toolcell -n '__toolcell_verb policy plan' -s r -l rootfs -d 'where the system comes from (default host)' -x -a 'host (__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy plan' -l cwd -d 'directory in the cell to start in (default: the caller\'s place in the workspace)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l env -d 'set a variable' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l pass-env -d 'pass a variable of the caller' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l net -d 'the network (default none)' -x -a 'none egress host'
complete -c toolcell -n '__toolcell_verb policy plan' -l timeout -d 'end the call after this time' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l cpu-time -d 'end the call after this much CPU time' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l cpus -d 'how many CPUs it may keep busy' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l memory -d 'memory of all its processes' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l pids -d 'processes and threads (default 512)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l output-limit -d 'output that is kept; with :stop the call ends there' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l disk -d 'all scratch together (default 1G)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l file-size -d 'largest file (default: as --disk)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l open-files -d 'open files of a process (default 1024)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l grace -d 'between TERM and KILL when cancelled (default 2s)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l stdin -d 'what the command reads (none with --json or on a terminal)' -x -a 'none inherit'
complete -c toolcell -n '__toolcell_verb policy plan' -l tty -d 'give the command a terminal'
complete -c toolcell -n '__toolcell_verb policy plan' -l json -d 'events and the result as JSON lines on stdout'
complete -c toolcell -n '__toolcell_verb policy plan' -l events-fd -d 'events and the result as JSON lines on descriptor N' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l ask -d 'who answers what the rules ask (default deny)' -x -a 'deny tty fd'
complete -c toolcell -n '__toolcell_verb policy plan' -l keep-going -d 'run on when the reader of the output is gone'
complete -c toolcell -n '__toolcell_verb policy plan' -l no-daemon -d 'never use a running daemon'
complete -c toolcell -n '__toolcell_verb policy plan' -l label -d 'a label that comes back in the events' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l session -d 'run in a session' -x
complete -c toolcell -n '__toolcell_verb policy plan' -l request -d 'read the request as JSON; options beside it win' -r -F
complete -c toolcell -n '__toolcell_verb policy plan' -l allow-degraded -d 'run although a part cannot be enforced (without a name: any part)'
complete -c toolcell -n '__toolcell_verb policy plan' -l user -d 'identity on the host (root only)' -x
complete -c toolcell -n '__toolcell_verb policy plan' -s q -l quiet -d 'tell nothing about denials'
complete -c toolcell -n '__toolcell_verb policy plan' -s v -l verbose -d 'tell more'
complete -c toolcell -n '__toolcell_verb policy plan' -s h -l help -d 'print this help'

complete -c toolcell -n '__toolcell_verb policy show' -s p -l policy -d 'the rules: a preset, a policy by name, or a file (default workspace)' -r -F -a 'default git permissive readonly strict workspace'
complete -c toolcell -n '__toolcell_verb policy show' -l policy-fd -d 'read the policy from descriptor N' -x
complete -c toolcell -n '__toolcell_verb policy show' -l project-policy -d 'let .toolcell.json at the workspace\'s root tighten the rules'
complete -c toolcell -n '__toolcell_verb policy show' -s w -l workspace -d 'the tree to work on (default: the current directory, rw, as /workspace)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy show' -s m -l mount -d 'one more tree of the host (default ro)' -x -a '(__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy show' -l tmpfs -d 'one more scratch directory' -x
complete -c toolcell -n '__toolcell_verb policy show' -s r -l rootfs -d 'where the system comes from (default host)' -x -a 'host (__fish_complete_directories)'
complete -c toolcell -n '__toolcell_verb policy show' -l cwd -d 'directory in the cell to start in (default: the caller\'s place in the workspace)' -x
complete -c toolcell -n '__toolcell_verb policy show' -l env -d 'set a variable' -x
complete -c toolcell -n '__toolcell_verb policy show' -l pass-env -d 'pass a variable of the caller' -x
complete -c toolcell -n '__toolcell_verb policy show' -l net -d 'the network (default none)' -x -a 'none egress host'
complete -c toolcell -n '__toolcell_verb policy show' -l timeout -d 'end the call after this time' -x
complete -c toolcell -n '__toolcell_verb policy show' -l cpu-time -d 'end the call after this much CPU time' -x
complete -c toolcell -n '__toolcell_verb policy show' -l cpus -d 'how many CPUs it may keep busy' -x
complete -c toolcell -n '__toolcell_verb policy show' -l memory -d 'memory of all its processes' -x
complete -c toolcell -n '__toolcell_verb policy show' -l pids -d 'processes and threads (default 512)' -x
complete -c toolcell -n '__toolcell_verb policy show' -l output-limit -d 'output that is kept; with :stop the call ends there' -x
complete -c toolcell -n '__toolcell_verb policy show' -l disk -d 'all scratch together (default 1G)' -x
complete -c toolcell -n '__toolcell_verb policy show' -l file-size -d 'largest file (default: as --disk)' -x
complete -c toolcell -n '__toolcell_verb policy show' -l open-files -d 'open files of a process (default 1024)' -x
complete -c toolcell -n '__toolcell_verb policy show' -l grace -d 'between TERM and KILL when cancelled (default 2s)' -x
complete -c toolcell -n '__toolcell_verb policy show' -l stdin -d 'what the command reads (none with --json or on a terminal)' -x -a 'none inherit'
complete -c toolcell -n '__toolcell_verb policy show' -l tty -d 'give the command a terminal'
complete -c toolcell -n '__toolcell_verb policy show' -l json -d 'events and the result as JSON lines on stdout'
complete -c toolcell -n '__toolcell_verb policy show' -l events-fd -d 'events and the result as JSON lines on descriptor N' -x
complete -c toolcell -n '__toolcell_verb policy show' -l ask -d 'who answers what the rules ask (default deny)' -x -a 'deny tty fd'
complete -c toolcell -n '__toolcell_verb policy show' -l keep-going -d 'run on when the reader of the output is gone'
complete -c toolcell -n '__toolcell_verb policy show' -l no-daemon -d 'never use a running daemon'
complete -c toolcell -n '__toolcell_verb policy show' -l label -d 'a label that comes back in the events' -x
complete -c toolcell -n '__toolcell_verb policy show' -l session -d 'run in a session' -x
complete -c toolcell -n '__toolcell_verb policy show' -l request -d 'read the request as JSON; options beside it win' -r -F
complete -c toolcell -n '__toolcell_verb policy show' -l allow-degraded -d 'run although a part cannot be enforced (without a name: any part)'
complete -c toolcell -n '__toolcell_verb policy show' -l user -d 'identity on the host (root only)' -x
complete -c toolcell -n '__toolcell_verb policy show' -s q -l quiet -d 'tell nothing about denials'
complete -c toolcell -n '__toolcell_verb policy show' -s v -l verbose -d 'tell more'
complete -c toolcell -n '__toolcell_verb policy show' -s h -l help -d 'print this help'

complete -c toolcell -n '__toolcell_verb doctor' -l selftest -d 'try to reach out of a cell, and tell what got through'
complete -c toolcell -n '__toolcell_verb doctor' -l json -d 'print one JSON object'
complete -c toolcell -n '__toolcell_verb doctor' -s h -l help -d 'print this help'

complete -c toolcell -n '__toolcell_verb run' -a '(__fish_complete_subcommand)'
complete -c toolcell -n '__toolcell_verb policy explain' -a 'read list write edit execute connect'
complete -c toolcell -n '__toolcell_verb policy check' -F -a 'default git permissive readonly strict workspace'
complete -c toolcell -n '__toolcell_verb policy show' -F -a 'default git permissive readonly strict workspace'

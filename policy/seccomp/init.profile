# SPDX-License-Identifier: Apache-2.0
#
# What init needs once the command runs; it loads this for itself on top of the cell's program, when nothing is left to
# be started. A call from outside this list means that init is no longer init: the cell ends.

otherwise: kill

[loop]
why: waiting for the control socket, for children, for the deadline
allow: ppoll restart_syscall clock_gettime read recvmsg sendto

[children]
why: reaping, and killing what is left
allow: wait4 getrusage

[signals]
why: to all processes of the cell or to none
kill: kill if arg0 is not 0xffffffff

[scratch]
why: whether it was full when the command ended
allow: statfs

[end]
why: the cell ends with init
allow: exit_group

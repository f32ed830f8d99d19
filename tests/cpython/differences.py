# SPDX-License-Identifier: Apache-2.0
"""What CPython's own tests notice of a cell: test, outcome outside, outcome in a cell, the protection that explains it.

A difference that is not here fails the suite, and so does one that is here and shows no more. The explanations stand in
toolcell(7) as they stand here.
"""

SET_ID = "A set-id bit cannot be set, not even on a directory (EPERM)."
IDS = ("An id other than the cell's own does not exist there: changing to it or giving a file to it is EINVAL rather "
       "than EPERM.")
NOTIFY = "F_NOTIFY is refused (EPERM): its signals tell what others do in a directory; inotify works."
DATAGRAMS = ("AF_UNIX datagram sockets are refused (EPERM), for each message could name a socket of the host; streams "
             "and sequenced packets work.")

EVENTS = "test.test_asyncio.test_base_events.BaseEventLoopWithSelectorTests"

DIFFERENCES = [
    (f"{EVENTS}.test_create_datagram_endpoint_existing_sock_unix", "passed", "failed", DATAGRAMS),
    (f"{EVENTS}.test_create_datagram_endpoint_sock_unix", "passed", "failed", DATAGRAMS),
    ("test.test_asyncio.test_unix_events.SelectorEventLoopUnixSocketTests.test_create_unix_server_path_dgram",
     "passed", "failed", DATAGRAMS),
    ("test.test_fcntl.TestFcntl.test_fcntl_64_bit", "passed", "failed", NOTIFY),
    ("test.test_logging.UnixDatagramHandlerTest.test_output", "passed", "skipped", DATAGRAMS),
    ("test.test_logging.UnixSysLogHandlerTest.test_output", "passed", "skipped", DATAGRAMS),
    ("test.test_logging.UnixSysLogHandlerTest.test_udp_reconnection", "passed", "failed", DATAGRAMS),
    ("test.test_os.ChownFileTests.test_chown_without_permission", "passed", "failed", IDS),
    ("test.test_os.MakedirTests.test_exist_ok_s_isgid_directory", "passed", "skipped", SET_ID),
    ("test.test_subprocess.POSIXProcessTestCase.test_group", "passed", "failed", IDS),
    ("test.test_subprocess.POSIXProcessTestCase.test_user", "passed", "failed", IDS),
]

NAME = "A socket that was bound to a path in a mediated mount tells the last component of it as its name (getsockname)."

# Besides, where names are judged.
MEDIATED = [
    ("test.test_socket.TestUnixDomain.testBytesAddr", "passed", "failed", NAME),
    ("test.test_socket.TestUnixDomain.testStrAddr", "passed", "failed", NAME),
    ("test.test_socket.TestUnixDomain.testSurrogateescapeBind", "passed", "failed", NAME),
    ("test.test_socket.TestUnixDomain.testUnencodableAddr", "passed", "failed", NAME),
]

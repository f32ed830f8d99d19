# SPDX-License-Identifier: Apache-2.0
"""Real programs do in a cell what they do outside: whatever calls their run-times make, the filter lets them work.

Each must succeed and say what is expected. Those that this host does not have are left out, but for the few that every
Debian system with the build's tools has."""

import os
import shutil

import pytest

import harness

EVERYWHERE = {"python3", "bash", "perl", "gcc", "tar", "find", "git"}

PYTHON = """
import asyncio, concurrent.futures, ctypes, multiprocessing, os, socket, subprocess, tempfile, threading
async def talk():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
    writer.close()
    assert await (await asyncio.create_subprocess_exec("true")).wait() == 0
asyncio.run(talk())
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ProcessPoolExecutor(2) as pool: assert list(pool.map(abs, [-3])) == [3]
multiprocessing.Lock(), multiprocessing.Queue()
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
subprocess.run(["true"], check=True)
assert ctypes.CDLL(None).getpid() == os.getpid()
os.sched_setaffinity(0, os.sched_getaffinity(0)); os.getrandom(8); os.memfd_create("x"); os.pidfd_open(os.getpid())
with tempfile.TemporaryFile() as file: os.posix_fallocate(file.fileno(), 0, 4096)
assert socket.getaddrinfo("localhost", 80)
print("done")
"""

NODE = """
const http = require("http"), child = require("child_process"), { Worker } = require("worker_threads")
const server = http.createServer((request, response) => response.end("answer")).listen(0, "127.0.0.1", () =>
  http.get({ host: "127.0.0.1", port: server.address().port }, response => response.on("data", data => {
    server.close()
    new Worker("require('worker_threads').parentPort.postMessage(1)", { eval: true }).on("message", () =>
      console.log(String(data), child.execSync("echo done").toString()))
  })))
"""

JAVA = """
import java.net.*;
class Hello {
    public static void main(String[] ignored) throws Exception {
        Thread thread = new Thread(() -> {});
        thread.start(); thread.join();
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
             Socket client = new Socket(server.getInetAddress(), server.getLocalPort())) { server.accept().close(); }
        new ProcessBuilder("true").start().waitFor();
        java.nio.channels.Selector.open().close();
        System.out.println("done");
    }
}
"""

GO = """
package main
import ("fmt"; "net"; "os/exec")
func main() {
    listener, failure := net.Listen("tcp", "127.0.0.1:0")
    if failure != nil { panic(failure) }
    go func() { peer, _ := listener.Accept(); peer.Close() }()
    if _, failure = net.Dial("tcp", listener.Addr().String()); failure != nil { panic(failure) }
    if failure = exec.Command("true").Run(); failure != nil { panic(failure) }
    if _, failure = net.Interfaces(); failure != nil { panic(failure) }
    fmt.Println("done")
}
"""

FILES = {"talk.py": PYTHON, "talk.js": NODE, "Hello.java": JAVA, "hello.go": GO, "hello.c": "int main(void) { return 0; }\n",
         "leak.c": "#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(1); p = 0; return 0; }\n"}

# program, script. The last line of what it says is "done".
PROGRAMS = [
    ("python3", "python3 talk.py"),
    ("bash", "bash -c 'ulimit -c 0; ulimit -n 100; coproc cat; echo done >&${COPROC[1]}; read -u ${COPROC[0]} line;"
             " cat <(echo $line); kill %1'"),
    ("perl", "perl -e 'use Socket; socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; fork or exit; wait;"
             " opendir(D, \".\") or die; utime(1, 2, \"hello.c\") or die; print \"done\\n\"'"),
    ("gcc", "gcc -O2 -pthread -fsanitize=undefined hello.c -o hello && ./hello && echo done"),
    # LeakSanitizer stops its threads by ptrace().
    ("cc", "cc -fsanitize=leak leak.c -o leak && ./leak 2>&1 | grep -q 'detected memory leaks' && echo done"),
    ("tar", "mkdir -p a/b && echo x >a/b/c && ln -s c a/b/d && tar cf a.tar a && rm -r a && tar xpf a.tar && cp -a a e &&"
            " cp --reflink=auto -r a f && echo done"),
    ("find", "find . -name hello.c -newermt 1970-01-01 -exec touch {} + && echo done"),
    ("git", "git init -q g && cd g && echo x >x && git add x && git -c user.name=a -c user.email=a@b commit -qm x &&"
            " git gc -q && git clone -q . ../h && git status >/dev/null && echo done"),
    ("gdb", "gcc -g hello.c -o hello && gdb -batch -ex run ./hello | grep -q 'exited normally' && echo done"),
    ("sqlite3", "sqlite3 base 'pragma journal_mode=wal; create table t(a); insert into t values(1); select \"done\"'"),
    ("make", "printf 'all: a b\\n\\t@echo done\\na b:\\n\\t@true\\n' >Makefile && make -j2"),
    ("rsync", "mkdir from && touch from/x && rsync -a from/ to/ && test -e to/x && echo done"),
    ("node", "node talk.js"),
    ("java", "java -version 2>&1 && echo done"),
    ("javac", "javac Hello.java && java Hello"),
]


@pytest.mark.parametrize("program,script", [pytest.param(*row, id=row[0]) for row in PROGRAMS
                                            if row[0] in EVERYWHERE or shutil.which(row[0], path="/usr/bin:/bin")])
def test_a_program_works(cell, program, script):
    for name, text in FILES.items():
        cell.write(name, text)
    done = cell.run("sh", "-c", script, timeout=120)
    assert done.succeeded().text.split()[-1:] == ["done"], (done.text, done.stderr)


@pytest.mark.skipif(not os.path.exists("/usr/local/go/bin/go"), reason="no Go in the visible rootfs (/usr/local/go)")
@pytest.mark.long
@harness.as_user
def test_go_works(cell):
    cell.write("hello.go", GO)
    done = cell.run("sh", "-c", "GOCACHE=/tmp/go GO111MODULE=off /usr/local/go/bin/go build -o hello hello.go && ./hello",
                    timeout=300)
    assert done.succeeded().text.split()[-1:] == ["done"], (done.text, done.stderr)

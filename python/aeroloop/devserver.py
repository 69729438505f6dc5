# SPDX-License-Identifier: Apache-2.0
"""A development server in a process of its own: an in-memory Aerospike for tests.

    from aeroloop.devserver import DevServer

    with DevServer(nodes=3) as server:
        print(server.hosts)  # [("127.0.0.1", 40001), ...]
        server.stop_node(2)
        server.start_node(2)
        with server.fault("delay", node=0, command="read", ms=200) as fault:
            ...
            assert fault.applied == 1

`python -m aeroloop.devserver --nodes 3` runs the program in the foreground. It needs
nothing but the standard library and the program; the extension is not imported.
"""

import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["DevServer", "DevServerError", "Fault", "find_program"]

_PROGRAM = "aeroloop-devserver"
_VARIABLE = "AEROLOOP_DEVSERVER"
_PROTO_INFO = 1
_PROTO_VERSION = 2
_LOG_LINES = 10_000


class DevServerError(RuntimeError):
    """The server could not be started, has ended, or refused a command."""


def find_program() -> str:
    """Return the path of the server's program.

    The variable AEROLOOP_DEVSERVER comes first, then the program beside this package,
    then the PATH.
    """
    named = os.environ.get(_VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise DevServerError(f"{_VARIABLE}={named} is not a program")
        return named
    beside = Path(__file__).resolve().parent / "bin" / _PROGRAM
    if os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which(_PROGRAM)
    if found is None:
        raise DevServerError(
            f"{_PROGRAM} was not found: neither {beside} nor anything on PATH; "
            f"set {_VARIABLE} to its path"
        )
    return found


def _ask(sock: socket.socket, command: str) -> str:
    body = command.encode() + b"\n"
    sock.sendall(struct.pack(">BBHI", _PROTO_VERSION, _PROTO_INFO, 0, len(body)) + body)
    size = int.from_bytes(_read_exactly(sock, 8)[2:], "big")
    answer = _read_exactly(sock, size).decode("utf-8", "replace")
    return answer.rstrip("\n").partition("\t")[2]


def _read_exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        got = sock.recv(size - len(data))
        if not got:
            raise DevServerError("the server closed the connection")
        data += got
    return bytes(data)


class _Control:
    """A connection for commands that may close the port to new ones. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: socket.socket | None = None
        self._owner = 0

    def ask(self, addresses: Sequence[tuple[str, int]], command: str) -> str:
        """Send one command over the old connection, or a new one to any address."""
        with self._lock:
            if self._sock is not None and self._owner == os.getpid():
                try:
                    return _ask(self._sock, command)
                except (OSError, DevServerError):
                    pass  # its node was stopped
            self._drop()
            error: OSError | DevServerError | None = None
            for address in addresses:
                try:
                    sock = socket.create_connection(address, timeout=10.0)
                except OSError as failed:
                    error = failed
                    continue
                self._sock, self._owner = sock, os.getpid()
                return _ask(sock, command)
            raise DevServerError(f"no node of the server answers: {error}")

    def _drop(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    def close(self) -> None:
        if self._owner != os.getpid():
            self._drop()  # after a fork the lock may be held by nobody
            return
        with self._lock:
            self._drop()


class Fault:
    """A fault that is in force; ends with the `with` block, or by `clear`."""

    def __init__(self, server: "DevServer", number: int, text: str) -> None:
        self._server = server
        self._text = text
        self.id = number

    def _counts(self) -> dict[str, str]:
        for listed in self._server.faults():
            if listed["id"] == str(self.id):
                return listed
        raise DevServerError(f"fault {self.id} ({self._text}) was cleared")

    @property
    def applied(self) -> int:
        """How many times it has acted."""
        return int(self._counts()["applied"])

    @property
    def matched(self) -> int:
        """How many requests its keys fitted, whether it acted on them or not."""
        return int(self._counts()["matched"])

    def clear(self) -> None:
        """End it. Harmless when it was cleared before."""
        if any(listed["id"] == str(self.id) for listed in self._server.faults()):
            self._server._order(f"aeroloop-fault-clear:id={self.id}")

    def __enter__(self) -> "Fault":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A server that has ended has no faults; its end is not this block's to tell.
        if self._server.returncode is None:
            self.clear()

    def __repr__(self) -> str:
        return f"<Fault {self.id}: {self._text}>"


class DevServer:
    """A running server. Use it as a context manager, or call `close`.

    Args:
        nodes: Nodes of the cluster, 1 to 8; by default the file's, or 1.
        namespaces: At most two names; by default the file's, or test and bar.
        port: Port of the first node, the others follow; 0 takes free ones, whatever
            the file says.
        replication_factor: Copies of a record; by default 2, or 1 with one node.
        cluster_name: What the nodes call their cluster.
        config: A file of settings (YAML); what is given here wins.
        load: Files of records (YAML or JSON) that are there when it is ready.
        log: error, warn, info or debug: how much `log_lines` gets to tell.
        program: Path of the program, if `find_program` shall not look for it.
        timeout: Seconds to wait for the server to be ready.
    """

    def __init__(
        self,
        nodes: int | None = None,
        namespaces: Sequence[str] | None = None,
        port: int = 0,
        *,
        replication_factor: int | None = None,
        cluster_name: str | None = None,
        config: str | os.PathLike[str] | None = None,
        load: Sequence[str | os.PathLike[str]] = (),
        log: str | None = None,
        program: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        options = {
            "port": port,
            "nodes": nodes,
            "namespace": None if namespaces is None else ",".join(namespaces),
            "replication-factor": replication_factor,
            "cluster-name": cluster_name,
            "config": None if config is None else os.fspath(config),
            "log": log,
        }
        command = [program or find_program(), "--exit-with-parent"]
        command += [
            f"--{key}={value}" for key, value in options.items() if value is not None
        ]
        command += [f"--load={os.fspath(file)}" for file in load]
        # Its standard input is a pipe that only we hold: it ends when we end.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._owner = os.getpid()
        self._link = _Control()
        self._errors: deque[bytes] = deque(maxlen=_LOG_LINES)
        self._drain = threading.Thread(target=self._drain_errors, daemon=True)
        self._drain.start()
        try:
            ready = self._wait_ready(timeout)
        except BaseException:
            self.close()
            raise
        self.hosts: list[tuple[str, int]] = [(h, int(p)) for h, p in ready["hosts"]]
        self.pid: int = ready["pid"]
        self.cluster_name: str = ready["cluster_name"]

    def _drain_errors(self) -> None:
        stream = self._process.stderr
        if stream is not None:
            for line in stream:
                self._errors.append(line)
            stream.close()

    def _error_text(self) -> str:
        self._drain.join(1.0)
        return "\n".join(self.log_lines())

    def log_lines(self) -> list[str]:
        """Return what the server has written to its standard error, the newest last."""
        return [
            line.decode("utf-8", "replace").rstrip("\n") for line in list(self._errors)
        ]

    def _wait_ready(self, timeout: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        fd = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout
        line = b""
        while not line.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                raise DevServerError(f"the server was not ready within {timeout:g} s")
            got = os.read(fd, 65536)
            if not got:
                self._process.wait()
                raise DevServerError(
                    f"the server ended with status {self._process.returncode}: "
                    f"{self._error_text()}"
                )
            line += got
        ready: dict[str, Any] = json.loads(line)
        return ready

    def info(self, command: str, node: int = 0, *, timeout: float = 10.0) -> str:
        """Send one info command to a node and return the value of its answer."""
        try:
            with socket.create_connection(self.hosts[node], timeout=timeout) as sock:
                return _ask(sock, command)
        except OSError as error:
            raise DevServerError(f"node {node} does not answer: {error}") from error

    def nodes(self) -> list[dict[str, str]]:
        """Return what the server tells of its nodes: id, address, state, and so on."""
        answer = self.info("aeroloop-nodes", self._any_node())
        return [
            dict(part.partition("=")[::2] for part in node.split(","))
            for node in answer.split(";")
        ]

    def _any_node(self, but: int | None = None) -> int:
        """A node that can be asked: not all of them need be up."""
        for node, address in enumerate(self.hosts):
            if node == but:
                continue
            try:
                socket.create_connection(address, timeout=5.0).close()
            except OSError:
                continue
            return node
        raise DevServerError("no node of the server answers")

    def _control(self, command: str, node: int) -> None:
        answer = self.info(command, self._any_node(but=node))
        if answer != "ok":
            raise DevServerError(f"{command}: {answer}")

    def stop_node(self, node: int, *, reset: bool = False) -> None:
        """Take a node down: its ports close, its data is lost, the others take over.

        Args:
            node: Its index in `hosts`.
            reset: End its connections with a reset instead of an orderly close.
        """
        how = "reset" if reset else "close"
        self._control(f"aeroloop-node-stop:node={node};how={how}", node)

    def start_node(
        self, node: int, *, wait: bool = True, timeout: float = 60.0
    ) -> None:
        """Bring a node back on its old port, empty.

        Args:
            node: Its index in `hosts`.
            wait: Return only when it was filled from the other nodes.
            timeout: Seconds to wait for that.
        """
        self._control(f"aeroloop-node-start:node={node}", node)
        if wait:
            self.settle(timeout)

    def settle(self, timeout: float = 60.0) -> None:
        """Wait until every node holds all the data that it should."""
        deadline = time.monotonic() + timeout
        while any(node["fills_left"] != "0" for node in self.nodes()):
            if time.monotonic() > deadline:
                raise DevServerError(f"the nodes did not settle within {timeout:g} s")
            time.sleep(0.01)

    def fault(
        self,
        kind: str,
        node: int | None = None,
        command: str | Sequence[str] = "any",
        count: int | None = None,
        **parameters: str | int | float,
    ) -> Fault:
        """Order a fault, in force until the end of a `with` block or `Fault.clear`.

        Args:
            kind: delay, stall, trickle, reset, truncate, wrong_length, wrong_result,
                lost_reply or refuse.
            node: Index of the node that it is for; None is all nodes.
            command: read, write, delete, operate, batch, info, or any; or several.
            count: How many times it acts; None is always.
            parameters: The kind's own (`ms`, `bytes`, `result`, ...) and further
                limits (`namespace`, `set`, `connection`, `after`, `probability`,
                `seed`), as docs/internals/devserver.md has them.
        """
        words = {"kind": kind.replace("_", "-")}
        if node is not None:
            words["node"] = str(node)
        names = [command] if isinstance(command, str) else list(command)
        if names != ["any"]:
            words["command"] = "+".join(names)
        if count is not None:
            words["count"] = str(count)
        words.update({key: str(value) for key, value in parameters.items()})
        text = ";".join(f"{key}={value}" for key, value in words.items())
        answer = self._order(f"aeroloop-fault-add:{text}")
        return Fault(self, int(answer.partition("=")[2]), text)

    def faults(self) -> list[dict[str, str]]:
        """Return the faults in force and what they did: id, kind, applied, ..."""
        listed = self._order("aeroloop-fault-list")
        return [
            dict(part.partition("=")[::2] for part in fault.split(","))
            for fault in listed.split(";")
            if fault
        ]

    def clear_faults(self) -> None:
        """End all faults. Connections that were silenced stay so."""
        self._order("aeroloop-fault-clear")

    def connections(self) -> list[dict[str, str]]:
        """Return id, node and peer address of all connections to the server."""
        listed = self._order("aeroloop-connections")
        return [
            dict(part.partition("=")[::2] for part in connection.split(","))
            for connection in listed.split(";")
            if connection
        ]

    def advance_clock(self, seconds: int) -> None:
        """Move the server's clock forward: records whose time has come expire."""
        self._order(f"aeroloop-clock-advance:seconds={seconds}")

    def _order(self, command: str) -> str:
        answer = self._link.ask(self.hosts, command)
        if answer.startswith("ERROR"):
            raise DevServerError(f"{command}: {answer}")
        return answer

    @property
    def returncode(self) -> int | None:
        """The status that the server ended with, None while it runs."""
        return self._process.poll()

    def close(self) -> None:
        """End the server. Safe to call again; in a forked child it lets go of it."""
        process = self._process
        self._link.close()
        if os.getpid() == self._owner and process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if os.getpid() == self._owner:
            self._drain.join(1.0)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def __enter__(self) -> "DevServer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _main() -> None:
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    _main()

"""A TCP proxy on loopback that breaks connections on demand: before an answer passes, or in the middle of a stream."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class BreakingProxy:
    """Passes everything on, but the next ``answers_to_lose`` answers."""

    target: tuple[str, int]
    listener: socket.socket
    answers_to_lose: int = 0
    lost: int = 0
    _open: set[socket.socket] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def break_all(self) -> None:
        with self._lock:
            broken, self._open = self._open, set()
        for one in broken:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(self.target) as server:
            with self._lock:
                self._open |= {client, server}
            back = threading.Thread(target=self._pass_back, args=(server, client), daemon=True)
            back.start()
            while chunk := client.recv(65536):
                server.sendall(chunk)
            back.join()

    def _pass_back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := server.recv(65536):
                with self._lock:
                    loses = self.answers_to_lose > 0
                    self.answers_to_lose -= loses
                    self.lost += loses
                if loses:
                    break
                client.sendall(chunk)
        for one in (client, server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def breaking_proxy(host: str, port: int) -> Iterator[BreakingProxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = BreakingProxy((host, port), listener)
        server = threading.Thread(target=proxy.serve, daemon=True)
        server.start()
        try:
            yield proxy
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            proxy.break_all()
            server.join()

"""Posts a body to a webhook's address: to the very address that was checked, within a deadline, without redirects.

What is posted, and what becomes of a failure, is the pipeline's.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from shared.base.errors import Transient
from shared.events.addresses import Address, AddressGuard, IpAddress, parse

MOST_ADDRESSES = 4
_AGENT = "Afterthought"
_LEAST_SECONDS = 0.001
Trace = Callable[[str, dict[str, Any]], None]


class WebhookUnreachable(Transient):
    """Nothing answered in time, or not in HTTP."""

    code = "unreachable"


@dataclass(frozen=True)
class WebhookRequest:
    """What is posted, and where to."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass
class WebhookClient:
    """Posts requests; the proxies of the environment are left alone, and redirects are not followed."""

    guard: AddressGuard
    seconds: float
    """The longest a delivery may take in all."""

    def __post_init__(self) -> None:
        # No connection is kept: under an address there may be several names, each with its own certificate.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(
            transport=httpx.HTTPTransport(limits=limits), trust_env=False, follow_redirects=False
        )

    def post(self, request: WebhookRequest) -> int:
        """Post and return the status of the answer. Raises: Invalid, WebhookUnreachable, Transient."""
        until = time.monotonic() + self.seconds
        address = parse(request.url)
        failure: Exception | None = None
        for ip in self.guard.addresses(address)[:MOST_ADDRESSES]:
            try:
                return self._post(request, address, ip, until)
            except httpx.ConnectError as error:
                failure = error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise WebhookUnreachable(f"It did not answer in HTTP ({type(error).__name__}).") from error
        raise WebhookUnreachable(f"Nothing could be reached there ({type(failure).__name__}).") from failure

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def _post(self, request: WebhookRequest, address: Address, ip: IpAddress, until: float) -> int:
        host = f"[{ip}]" if ip.version == 6 else str(ip)
        left = max(until - time.monotonic(), _LEAST_SECONDS)
        with _deadline(left) as trace:
            built = self._client.build_request(
                "POST",
                f"{address.scheme}://{host}:{address.port}{address.target}",
                content=request.body,
                headers={"Host": address.authority, "User-Agent": _AGENT, "Connection": "close", **request.headers},
                timeout=left,
                # The certificate must be the name's, though the connection goes to the address.
                extensions={"sni_hostname": address.host, "trace": trace},
            )
            # The body of the answer is nobody's business, and is not read.
            response = self._client.send(built, stream=True)
            response.close()
            return response.status_code


@contextmanager
def _deadline(seconds: float) -> Iterator[Trace]:
    """Shut the connection down once ``seconds`` have passed, however many bytes still drip in.

    httpx limits each wait for bytes, never the whole.
    """
    # A duplicate: TLS takes the socket itself away.
    sockets: list[socket.socket] = []

    def shut() -> None:
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is closed already

    def trace(name: str, found: dict[str, Any]) -> None:
        if name == "connection.connect_tcp.complete":
            sockets.append(found["return_value"].get_extra_info("socket").dup())

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    finally:
        timer.cancel()
        timer.join()
        for one in sockets:
            one.close()

"""Which addresses webhooks may call: public ones, and those inside that the settings name; never any other.

A name is resolved here, every address it has must be allowed, and the caller connects to one of those very addresses;
to resolve again would let the name lead elsewhere meanwhile.
"""

import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from shared.base.errors import Invalid, Transient

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host and port as text; raises ``Transient``."""
CODE = "forbidden_address"
RESOLVE_SECONDS = 5.0
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")

# Source: IANA special-purpose address registries; written out, because what Python calls global differs by version.
_NOT_PUBLIC = tuple(
    ip_network(one)
    for one in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20",
    )
)  # fmt: skip
_UNICAST6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True)
class Address:
    """An address of a webhook, taken apart."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query."""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True)
class AddressGuard:
    """Says where a webhook's address leads, if it may be called."""

    internal: tuple[IpNetwork, ...] = ()
    """Networks inside that may be called."""
    resolve: Resolve = lambda host, port: resolve(host, port)

    def addresses(self, address: Address) -> tuple[IpAddress, ...]:
        """Return every address a host has, all of them allowed. Raises: Invalid, Transient."""
        found = tuple(dict.fromkeys(ip_address(one) for one in self.resolve(address.host, address.port)))
        if not found:
            raise Transient(f"The host {address.host} has no address.")
        if not all(self.allows(one) for one in found):
            raise Invalid(
                f"url: {address.host} leads to an address that is not public. Webhooks may call public addresses, and "
                "those inside that AFTERTHOUGHT_WEBHOOK_INTERNAL_HOSTS names.",
                code=CODE,
            )
        return found

    def allows(self, ip: IpAddress) -> bool:
        """Whether an address may be called; one that carries another is judged by that one too."""
        return any(ip in network for network in self.internal) or all(self._allows_plain(one) for one in _within(ip))

    def _allows_plain(self, ip: IpAddress) -> bool:
        return any(ip in network for network in self.internal) or is_public(ip)


def guard_of(internal_hosts: str, resolve_by: Resolve | None = None) -> AddressGuard:
    """Return the guard of the setting: addresses and networks by commas."""
    parts = [part.strip() for part in internal_hosts.split(",")]
    return AddressGuard(tuple(ip_network(part) for part in parts if part), resolve_by or resolve)


def is_public(ip: IpAddress) -> bool:
    """Whether an address that carries no other is global unicast."""
    # A zone names one of this machine's own links.
    if isinstance(ip, IPv6Address) and (ip.scope_id is not None or ip not in _UNICAST6):
        return False
    return not any(ip in network for network in _NOT_PUBLIC)


def _within(ip: IpAddress) -> Iterator[IpAddress]:
    """Yield the address that is meant: the IPv4 one an IPv6 one stands for, or itself."""
    # A tunnelled or translated address ends at the IPv4 one within it, which may be one inside.
    if isinstance(ip, IPv4Address):
        yield ip
    elif ip.ipv4_mapped is not None:
        yield ip.ipv4_mapped
    elif ip.sixtofour is not None:
        yield ip.sixtofour
    elif ip in _NAT64 and ip.scope_id is None:
        yield IPv4Address(int(ip) & 0xFFFFFFFF)
    else:
        yield ip


def parse(url: str) -> Address:
    """Take an address apart. Raises: Invalid, when it is not one a webhook can have."""
    if not _PRINTABLE.fullmatch(url) or "\\" in url:
        raise _refused("it must be written in visible ASCII characters; a name in another script as xn--…")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refused("it is no address") from None
    if parts.scheme not in _PORTS or not host:
        raise _refused("it must be written as https://HOST/PATH or http://HOST/PATH")
    if "@" in parts.netloc:
        raise _refused("it must not hold a user name or password; the signature says who calls")
    is_name = _NAME.fullmatch(host) is not None and ".." not in host
    if "%" in host or not (is_name or (":" in host and _is_ip(host))) or port == 0:
        raise _refused("its host is no name and no address")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Address(parts.scheme, host, port or _PORTS[parts.scheme], target)


def resolve(host: str, port: int, seconds: float = RESOLVE_SECONDS) -> list[str]:
    """Return the addresses of a host, or give up after ``seconds``, as the system's resolver would not.

    Raises: Transient.
    """
    found: list[list[str]] = []

    def look_up() -> None:
        try:
            rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            # The latter for a label that is empty or too long, from the codec for names.
            return
        found.append([str(row[4][0]) for row in rows])

    # getaddrinfo takes no deadline; as a daemon, one that hangs does not keep the process from ending.
    looking = threading.Thread(target=look_up, name="resolver", daemon=True)
    looking.start()
    looking.join(seconds)
    if not found:
        raise Transient(f"The host {host} could not be resolved.")
    return found[0]


def _is_ip(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _refused(why: str) -> Invalid:
    return Invalid(f"url: {why}.")

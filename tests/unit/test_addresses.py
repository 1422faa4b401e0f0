"""Which addresses a webhook may call: public ones, and those the settings name; whatever a name says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

import pytest

from loop.completions.upstream import Upstream
from shared.base.errors import Invalid, Transient
from shared.base.settings import Settings
from shared.events.addresses import CODE, Address, guard_of, parse, resolve
from shared.llm.transport import is_loopback

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1",
    "192.0.1.1", "198.17.255.255", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::1",
    "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
]  # fmt: skip
INSIDE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "fe80::1", "fe80::1%1", "febf::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
    "100::1", "2001::1", "2001:0:7f00:1::1", "2001:db8::1", "3fff::1", "5f00::1", "4000::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "2002:7f00:1::1", "2002:a9fe:a9fe::1",
    "2002:c0a8:1::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    assert guard_of("").allows(ip_address(address))


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_that_is_not_public_may_not_be_called(address: str) -> None:
    assert not guard_of("").allows(ip_address(address))


@pytest.mark.parametrize(
    ("internal", "address", "may"),
    [
        ("127.0.0.1", "127.0.0.1", True), ("127.0.0.1", "127.0.0.2", False), ("10.1.0.0/16", "10.1.2.3", True),
        ("10.1.0.0/16", "10.2.0.1", False), ("10.1.0.0/16", "::ffff:10.1.2.3", True),
        ("10.1.0.0/16, ::1", "::1", True), ("fd00::/8", "fd12::1", True), ("fd00::/8", "fc12::1", False),
        ("127.0.0.1", "169.254.169.254", False),
    ],
)  # fmt: skip
def test_addresses_inside_may_be_called_where_the_settings_name_them(internal: str, address: str, may: bool) -> None:
    assert guard_of(internal).allows(ip_address(address)) is may


def leading_to(*addresses: str, internal: str = "") -> tuple[str, ...]:
    guard = guard_of(internal, lambda host, port: addresses)
    return tuple(map(str, guard.addresses(parse("https://hooks.example/x"))))


def test_a_name_leads_to_the_addresses_it_has() -> None:
    assert leading_to("8.8.8.8", "2606:4700:4700::1111", "8.8.8.8") == ("8.8.8.8", "2606:4700:4700::1111")


@pytest.mark.parametrize(
    "addresses",
    [("127.0.0.1",), ("8.8.8.8", "10.0.0.1"), ("2606:4700:4700::1111", "::1"), ("8.8.8.8", "::ffff:169.254.169.254")],
    ids=["inside", "one of two inside", "one of two inside, IPv6", "one of two inside, in disguise"],
)
def test_a_name_with_any_address_inside_is_refused(addresses: Sequence[str]) -> None:
    with pytest.raises(Invalid, match=r"hooks\.example leads to an address that is not public") as refused:
        leading_to(*addresses)
    assert refused.value.code == CODE


def test_a_name_without_an_address_may_have_one_later() -> None:
    with pytest.raises(Transient):
        leading_to()


@pytest.mark.parametrize("host", ["0x7f.1", "2130706433", "127.1", "017700000001", "localhost", "[::1]", "127.0.0.1"])
def test_other_spellings_of_this_machine_are_this_machine(host: str) -> None:
    with pytest.raises((Invalid, Transient)):
        guard_of("").addresses(parse(f"http://{host}/"))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://example.org", Address("https", "example.org", 443, "/")),
        ("http://Example.ORG:8080/a/b?c=d#e", Address("http", "example.org", 8080, "/a/b?c=d")),
        ("https://[2606:4700::1]:1/x", Address("https", "2606:4700::1", 1, "/x")),
        ("https://1.1.1.1/?q", Address("https", "1.1.1.1", 443, "/?q")),
    ],
)
def test_an_address_is_taken_apart(url: str, address: Address) -> None:
    assert parse(url) == address


@pytest.mark.parametrize(
    ("url", "authority"),
    [("https://e.org/", "e.org"), ("http://e.org:443/", "e.org:443"), ("http://[::1]:80/", "[::1]")],
)
def test_the_host_header_names_the_port_only_where_it_is_another(url: str, authority: str) -> None:
    assert parse(url).authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "//example.org/", "ftp://example.org/", "file:///etc/passwd", "gopher://example.org/",
        "javascript:alert(1)", "http://", "http:///x", "https://user@example.org/", "https://user:pw@example.org/",
        "http://example.org@127.0.0.1/", "http://127.0.0.1\\@example.org/", "http://exa mple.org/",
        "http://example.org/a b", "http://example.org/\r\nX: y", "http://example.org:0/", "http://example.org:99999/",
        "http://example.org:x/", "http://[::1/", "http://[example.org]/", "http://exämple.org/", "http://a..b/",
        "http://-a/", "http://a%2eb/", "http://[fe80::1%25eth0]/", "http://example.org:80:80/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_webhook_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="url: it"):
        parse(url)


def test_a_name_that_does_not_resolve_may_do_so_later() -> None:
    with pytest.raises(Transient, match="could not be resolved"):
        resolve("a" * 64, 80)


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("http://127.0.0.1:11434", True), ("http://localhost", True), ("http://ollama.localhost:1", True),
        ("http://[::1]:11434", True), ("http://0.0.0.0:11434", True), ("http://ollama:11434", False),
        ("https://10.0.0.5", False), ("http://localhost.example.com", False), ("", False),
    ],
)  # fmt: skip
def test_only_this_machines_own_addresses_are_loopback(address: str, own: bool) -> None:
    assert is_loopback(address) is own


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("box", "http://box:11434"),
        ("box:1234", "http://box:1234"),
        ("http://box", "http://box"),
        ("https://box/ollama", "https://box/ollama"),
    ],
)
def test_an_address_without_scheme_means_ollamas_own_port(given: str, read: str) -> None:
    assert Settings(_env_file=None, ollama_host=given).ollama_host == read


@pytest.mark.parametrize(
    ("key", "seen"),
    [("sk-of-the-service", b"Wrong: [key], fake"), ("k", b"Wrong: sk-of-the-service, fake"),
     (None, b"Wrong: sk-of-the-service, fake")],
)  # fmt: skip
def test_a_key_is_taken_out_where_it_is_long_enough_to_be_one(key: str | None, seen: bytes) -> None:
    assert Upstream("openai:m", "http://127.0.0.1:1/v1", key).without_key(b"Wrong: sk-of-the-service, fake") == seen

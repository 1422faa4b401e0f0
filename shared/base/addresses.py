"""Addresses that may hold a name and a password: how one is read, and how it is shown.

What is said of an address that cannot be read holds nothing of it, for any part of it may be a password.
"""

from urllib.parse import urlsplit


def database_address(value: str) -> str:
    """Return the address of a database as SQLAlchemy reads it. Raises: ValueError."""
    scheme, separator, rest = value.partition("://")
    if not separator or scheme.split("+")[0] not in {"sqlite", "postgresql", "postgres"}:
        raise ValueError("must start with postgresql:// or sqlite:///")
    if not scheme.startswith("sqlite"):
        # A password may hold a slash here, so only what comes after it is looked at.
        _check(f"{scheme}://{rest.rpartition('@')[2]}")
    return f"postgresql+psycopg://{rest}" if scheme in {"postgresql", "postgres"} else value


def redis_address(value: str) -> str:
    """Return the address of a Redis. Raises: ValueError."""
    if not value.startswith(("redis://", "rediss://", "redis+socket://", "unix://")):
        raise ValueError("must start with redis://, rediss:// or redis+socket://")
    if value.startswith(("redis://", "rediss://")):
        _check(value)
    return value


def without_credentials(address: str) -> str:
    """Return an address without the name and password it may hold, fit for a message."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else address


def _check(value: str) -> None:
    """Refuse an address that would be read otherwise than it was meant. Raises: ValueError."""
    try:
        parts = urlsplit(value)
        # An @ behind the host belongs to a password with a slash or the like, which would be read as a path.
        is_whole = (parts.port or 1) > 0 and ("@" in parts.netloc or "@" not in value)
    except ValueError:
        is_whole = False
    if not is_whole:
        raise ValueError("cannot be read as an address; in a password, write / as %2F, ? as %3F and # as %23")

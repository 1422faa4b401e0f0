"""What every command that asks the service shares: where it is, who asks, and how the answer is shown."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Concatenate, ParamSpec
from urllib.parse import quote, urlsplit

import typer

from loop.cli.output import Output
from shared.errors import Configuration, Invalid

if TYPE_CHECKING:
    from loop.cli.service import Service
    from shared.settings import Settings

_Options = ParamSpec("_Options")
AppArgument = Annotated[str, typer.Argument(metavar="APP", help="The app's id.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="Most entries to show.")]
AllOption = Annotated[bool, typer.Option("--all", help="Show every entry, however many.")]
UserOption = Annotated[
    str | None, typer.Option("--user", help="Only of this user, as the app calls them.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_UrlOption = Annotated[
    str | None,
    typer.Option("--url", envvar="AFTERTHOUGHT_URL", help="Address of the service; else from the settings."),
]
_TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", envvar="AFTERTHOUGHT_TOKEN", help="Bearer token; else the admin token of the settings or the home."
    ),
]
_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_SHARED = (
    inspect.Parameter("as_json", _BY_NAME, default=False, annotation=JsonOption),
    inspect.Parameter("url", _BY_NAME, default=None, annotation=_UrlOption),
    inspect.Parameter("token", _BY_NAME, default=None, annotation=_TokenOption),
)


class Invocation:
    """One run of a command."""

    def __init__(self, as_json: bool = False, url: str | None = None, token: str | None = None) -> None:
        self.output = Output(as_json)
        self._url = url
        self._token = token

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings. Raises: Configuration."""
        from shared.settings import read_settings  # heavy, and not needed for --help

        return read_settings()

    @functools.cached_property
    def service(self) -> Service:
        """The service to ask. Raises: Configuration."""
        from loop.cli.service import Service  # heavy, and not needed for --help

        return Service(self.url, self.token)

    @functools.cached_property
    def patient_service(self) -> Service:
        """The service to ask where a minute's outage should not end the command. Raises: Configuration."""
        from loop.cli.service import PatientService  # heavy, and not needed for --help

        return PatientService(self.url, self.token)

    @functools.cached_property
    def url(self) -> str:
        """The address of the service. Raises: Configuration."""
        if self._url is None:
            return local_url(self.settings)
        parts = urlsplit(self._url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Configuration(f"--url {self._url}: must be written as http://HOST:PORT")
        return self._url.rstrip("/")

    @functools.cached_property
    def token(self) -> str:
        """The token to ask with. Raises: Configuration."""
        if self._token:
            return self._token
        if self.settings.admin_token is not None:
            return self.settings.admin_token.get_secret_value()
        if self._url is not None and not self._is_here():
            raise Configuration(
                f"Give --token (or AFTERTHOUGHT_TOKEN) with --url: the token kept here is not sent to {self.url}."
            )
        return _kept_token(self.settings.home / "admin_token")

    def close(self) -> None:
        """Let go of the connections."""
        for name in ("service", "patient_service"):
            if name in self.__dict__:
                self.__dict__[name].close()

    def _is_here(self) -> bool:
        from shared.llm.transport import is_loopback  # beside the settings, and not needed for --help

        return is_loopback(self.url)


def command(
    group: typer.Typer, name: str, part: str | None = None
) -> Callable[[Callable[Concatenate[Invocation, _Options], None]], Callable[..., None]]:
    """Register a function of an invocation as a command, with the options all of them share.

    ``part``: the heading under which a group with many commands lists it.
    """

    def register(function: Callable[Concatenate[Invocation, _Options], None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = list(signature.parameters.values())[1:]

        @functools.wraps(function)
        def run(as_json: bool, url: str | None, token: str | None, **given: object) -> None:
            call = Invocation(as_json, url, token)
            try:
                function(call, **given)  # type: ignore[arg-type, call-arg]
            finally:
                call.close()

        parameters = [*(one.replace(kind=_BY_NAME) for one in own), *_SHARED]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        group.command(name, rich_help_panel=part)(run)
        return run

    return register


def local_url(settings: Settings) -> str:
    """Return where the settings say that the service listens. Raises: Configuration."""
    if settings.port == 0:
        raise Configuration("AFTERTHOUGHT_PORT is 0, so the port changes with every start; name the address: --url.")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def route(*parts: str | int) -> str:
    """Return the path of a route from ids as users write them. Raises: Invalid for one that is no id."""
    for part in parts:
        if str(part) in {"", ".", ".."}:
            raise Invalid(f"'{part}' is no id.")
    return "/" + "/".join(quote(str(part), safe=":@") for part in parts)


def confirm(question: str, yes: bool) -> None:
    """Ask before what cannot be taken back; leaves with status 1 unless the answer is yes."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def _kept_token(path: Path) -> str:
    from shared.credentials import read_or_make_secret  # beside the settings, and not needed for --help

    if not path.exists():
        raise Configuration(
            f"No token: {path} does not exist, so the service was never started here. Start it with ./ops/up, or give "
            "--token."
        )
    return read_or_make_secret(path)

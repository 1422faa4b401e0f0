"""What every command shares: how it is declared, which service it asks, and how its answer is shown."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec
from urllib.parse import urlsplit

import typer
from rich.console import RenderableType
from typer.core import TyperCommand

from loop.cli.output import Columns, Row, card, plain, print_view, table
from shared.base.errors import Configuration
from shared.base.installation import start_command

if TYPE_CHECKING:
    from loop.cli.service import Service
    from shared.base.settings import Settings

_Options = ParamSpec("_Options")
AppArgument = Annotated[str, typer.Argument(metavar="APP", help="The app's id.", show_default=False)]
ConversationArgument = Annotated[str, typer.Argument(metavar="CONVERSATION", help="The conversation's id.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="Most entries to show.")]
UserOption = Annotated[
    str | None, typer.Option("--user", help="Only of this user, as the app calls them.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
NoWaitOption = Annotated[bool, typer.Option("--no-wait", help="Do not wait until it is there.")]
_AllOption = Annotated[bool, typer.Option("--all", help="Show every entry, however many.")]
UrlOption = Annotated[
    str | None,
    typer.Option("--url", envvar="AFTERTHOUGHT_URL", help="Address of the service; else from the settings."),
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", envvar="AFTERTHOUGHT_TOKEN", help="Bearer token; else the admin token of the settings or the home."
    ),
]


@dataclass
class Invocation:
    """One run of a command; what it prints is a table or a sentence for people, or JSON for machines."""

    as_json: bool = False
    given_url: str | None = None
    given_token: str | None = None
    limit: int | None = None
    """Most entries of a listing; None is all."""

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings. Raises: Configuration."""
        from shared.base.settings import read_settings  # heavy, and not needed for --help

        return read_settings()

    @functools.cached_property
    def service(self) -> Service:
        """The service to ask. Raises: Configuration."""
        from loop.cli.service import Service  # heavy, and not needed for --help

        return Service(self.url, self.token)

    @functools.cached_property
    def patient_service(self) -> Service:
        """The service to ask where a minute's outage should not end the command. Raises: Configuration."""
        from loop.cli.service import PATIENCE_SECONDS, Service  # heavy, and not needed for --help

        return Service(self.url, self.token, PATIENCE_SECONDS)

    @functools.cached_property
    def url(self) -> str:
        """The address of the service. Raises: Configuration."""
        if self.given_url is None:
            return local_url(self.settings)
        parts = urlsplit(self.given_url)
        if parts.username is not None:
            raise Configuration("--url must be written without a name and a password: a token goes into --token.")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise Configuration(f"--url {self.given_url}: must be written as http://HOST:PORT")
        return self.given_url.rstrip("/")

    @functools.cached_property
    def token(self) -> str:
        """The token to ask with. Raises: Configuration."""
        if self.given_token:
            return self.given_token
        if self.settings.admin_token is not None:
            return self.settings.admin_token.get_secret_value()
        from shared.base.credentials import read_or_make_secret  # heavy, and not needed for --help
        from shared.llm.transport import is_loopback  # as above

        # The home's token opens this installation; another machine must not get to see it.
        if self.given_url is not None and not is_loopback(self.url):
            raise Configuration(
                f"Give --token (or AFTERTHOUGHT_TOKEN) with --url: the token kept here is not sent to {self.url}."
            )
        path = self.settings.home / "admin_token"
        if not path.exists():
            raise Configuration(
                f"No token: {path} does not exist, so the service was never started here. Start it with "
                f"{start_command()}, or give --token."
            )
        return read_or_make_secret(path)

    def show(self, value: Any, view: Callable[[Any], RenderableType]) -> None:
        """Print a value as JSON, or what ``view`` makes of it for people."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
        else:
            print_view(view(value))

    def show_table(self, rows: Iterable[Row], columns: Columns, nothing: str) -> None:
        """Print rows, or for people a sentence where there are none."""
        self.show(list(rows), lambda rows: table(rows, columns, nothing))

    def show_card(self, row: Row, columns: Columns | None = None) -> None:
        """Print one thing, for people a line a field."""
        self.show(row, lambda row: card(row, columns))

    def show_listing(self, path: str, field: str, columns: Columns, nothing: str, **parameters: Any) -> None:
        """Print as many entries of a listing of the service as --limit and --all let through."""
        self.show_table(self.service.listing(path, field, self.limit, **parameters), columns, nothing)

    def done(self, value: Any, sentence: str) -> None:
        """Print a value as JSON, or one sentence for people."""
        self.show(value, lambda _: plain(sentence))

    def close(self) -> None:
        """Let go of the connections."""
        for name in ("service", "patient_service"):
            if name in self.__dict__:
                self.__dict__[name].close()


def command(
    group: typer.Typer,
    name: str,
    part: str | None = None,
    limit: int | None = None,
    cls: type[TyperCommand] | None = None,
) -> Callable[[Callable[Concatenate[Invocation, _Options], None]], Callable[Concatenate[Invocation, _Options], None]]:
    """Register a function of an invocation as a command, with the options that all of them share.

    ``part``: the heading under which a group with many commands lists it. ``limit``: it shows a listing and takes
    --limit, by default this, and --all.
    """
    by_name = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter("as_json", by_name, default=False, annotation=JsonOption),
        inspect.Parameter("url", by_name, default=None, annotation=UrlOption),
        inspect.Parameter("token", by_name, default=None, annotation=TokenOption),
    ]
    if limit is not None:
        shared = [
            inspect.Parameter("most", by_name, default=limit, annotation=LimitOption),
            inspect.Parameter("without_limit", by_name, default=False, annotation=_AllOption),
            *shared,
        ]

    def register(
        function: Callable[Concatenate[Invocation, _Options], None],
    ) -> Callable[Concatenate[Invocation, _Options], None]:
        signature = inspect.signature(function, eval_str=True)
        own = [one.replace(kind=by_name) for one in signature.parameters.values()][1:]

        # Typer reads the signature that is set below, and hands everything on by name.
        @functools.wraps(function)
        def run(
            *,
            as_json: bool,
            url: str | None,
            token: str | None,
            most: int | None = None,
            without_limit: bool = False,
            **given: Any,
        ) -> None:
            with contextlib.closing(Invocation(as_json, url, token, None if without_limit else most)) as call:
                function(call, **given)  # type: ignore[call-arg]

        run.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
        group.command(name, cls=cls, rich_help_panel=part)(run)
        return function

    return register


def local_url(settings: Settings) -> str:
    """Return where the settings say that the service listens. Raises: Configuration."""
    if settings.port == 0:
        raise Configuration("AFTERTHOUGHT_PORT is 0, so the port changes with every start; name the address: --url.")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def confirm(question: str, yes: bool) -> None:
    """Ask before what cannot be taken back; leaves with status 1 unless the answer is yes."""
    if not yes:
        typer.confirm(question, abort=True, err=True)

"""What a command is: a row that names an operation of the client, its arguments, and what is shown of its answer.

Most commands are no more than that. One that does more is a function of an ``Invocation``, and names in its row what it
carries out all the same: errors say which operation would help, and the rows tell by which command that is done.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec
from urllib.parse import urlsplit

import typer
from rich.console import RenderableType
from typer.core import TyperCommand
from typer.models import ArgumentInfo, OptionInfo

from loop.cli.output import Columns, card, plain, print_json, print_view, table
from shared.base.errors import AfterthoughtError, Configuration, Invalid
from shared.base.installation import start_command

if TYPE_CHECKING:
    from afterthought_client import Afterthought, ApiError
    from shared.base.settings import Settings

PATIENCE_SECONDS = 120.0
TIMEOUT_SECONDS, CONNECT_SECONDS = 60.0, 5.0
LONG_SECONDS = 900.0
"""For what reads whole files before it answers."""
PAGE = 200
_P = ParamSpec("_P")
Answer = dict[str, Any]
"""An answer of the service, as it is in JSON."""
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
UrlOption = Annotated[
    str | None, typer.Option("--url", envvar="AFTERTHOUGHT_URL", help="Address of the service; else from the settings.")
]
TokenOption = Annotated[
    str | None,
    typer.Option(
        "--token", envvar="AFTERTHOUGHT_TOKEN", help="Bearer token; else the admin token of the settings or the home."
    ),
]
_LimitOption = Annotated[int, typer.Option("--limit", min=1, help="Most entries to show.")]
_AllOption = Annotated[bool, typer.Option("--all", help="Show every entry, however many.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


class Refused(AfterthoughtError):
    """The service answered that it will not do this, or did not answer; the message is in commands."""


@dataclass
class Invocation:
    """One run of a command; what it prints is a table or a sentence for people, or JSON for machines."""

    as_json: bool = False
    given_url: str | None = None
    given_token: str | None = None
    limit: int | None = None
    """Most entries of a listing; None is all."""
    commands: Sequence[Command] = ()
    """All there are, so that errors can name those that would help."""
    _clients: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings. Raises: Configuration."""
        from shared.base.settings import read_settings  # heavy, and not needed for --help

        return read_settings()

    @functools.cached_property
    def client(self) -> Afterthought:
        """The service, asked once. Raises: Configuration."""
        return self._client(TIMEOUT_SECONDS)

    @functools.cached_property
    def slow_client(self) -> Afterthought:
        """The service where it may read whole files before it answers. Raises: Configuration."""
        return self._client(LONG_SECONDS)

    @functools.cached_property
    def patient_client(self) -> Afterthought:
        """The service where a minute's outage should not end the command. Raises: Configuration."""
        return self._client(TIMEOUT_SECONDS, PATIENCE_SECONDS)

    def _client(self, timeout_seconds: float, patience_seconds: float | None = None) -> Afterthought:
        import httpx  # heavy, and not needed for --help

        from afterthought_client import Afterthought, RetryPolicy  # as above

        retry = RetryPolicy(0, longest_wait_seconds=10.0, patience_seconds=patience_seconds)
        timeout = httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS)
        # Nothing of the environment: a proxy that is set for the web must not see the token.
        transport = httpx.HTTPTransport(trust_env=False)
        try:
            client = Afterthought(self.url, self.token, timeout=timeout, retry=retry, transport=transport)
        except ValueError as error:
            raise Configuration(str(error)) from None
        return self._clients.enter_context(client)

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

    def invoke(self, operation: Callable[_P, Any], *given: _P.args, **arguments: _P.kwargs) -> Any:
        """Return the answer of an operation of a client, as it is in JSON."""
        try:
            answer = operation(*given, **arguments)
        except ValueError as error:  # An argument that cannot be sent.
            raise Invalid(_unsendable(error)) from None
        return in_json(answer)

    def entries(self, operation: Callable[_P, Iterator[Any]], *given: _P.args, **arguments: _P.kwargs) -> list[Answer]:
        """Return as many entries of a listing as --limit and --all let through, page by page."""
        arguments["limit"] = PAGE if self.limit is None else min(self.limit, PAGE)
        try:
            return [in_json(one) for one in islice(operation(*given, **arguments), self.limit)]
        except ValueError as error:
            raise Invalid(_unsendable(error)) from None

    def show(self, value: Any, view: Callable[[Any], RenderableType]) -> None:
        """Print a value as JSON, or what ``view`` makes of it for people."""
        if self.as_json:
            print_json(value)
        else:
            print_view(view(value))

    def show_card(self, row: Answer, columns: Columns | None = None) -> None:
        """Print one thing, for people a line a field."""
        self.show(row, lambda row: card(row, columns))

    def done(self, value: Any, sentence: str) -> None:
        self.show(value, lambda _: plain(sentence))

    def in_commands(self, message: str, details: Mapping[str, Any]) -> str:
        """Return a message of the service with the command in the place of the route that would help."""
        if "onlyApp" in details:
            return f"This token opens only app {details['onlyApp']}."
        helping = details.get("operation") or {"id": ""}
        name = snake(helping["id"])
        found = next((one for one in self.commands if name and name in one.operations), None)
        if found is None:
            return message
        written, address = f"`{found.written(name, helping['arguments'])}`", helping["route"].split()[1]
        for route, words in ((helping["route"], written), (f"under {address}", f"with {written}"),
                             (f"to {address}", f"with {written}")):  # fmt: skip
            message = message.replace(route, words)
        return message

    def reason(self, error: ApiError) -> str:
        """Return why the service refused, in commands."""
        if error.code.startswith("http_"):
            return f"{self.url} answered with status {error.status}, and not as Afterthought does."
        message = self.in_commands(error.message, error.details)
        if error.status == HTTPStatus.UNAUTHORIZED:
            found = "--token, AFTERTHOUGHT_TOKEN, AFTERTHOUGHT_ADMIN_TOKEN or the home's admin_token"
            message += f" The command line takes it from the first there is of {found}."
        return message

    def why(self, error: Exception) -> str:
        """Return what an error of the client, or of ours, says to those who type commands."""
        import afterthought_client as client  # heavy, and not needed for --help

        if isinstance(error, client.ApiError):
            return self.reason(error)
        if isinstance(error, client.TimedOut):
            return f"{self.url} did not answer in time; try again."
        if isinstance(error, client.ConnectionFailed):
            found = f"Nothing answers at {self.url} ({error.cause}). Start the service with {start_command()}, or "
            return f"{found}name another address with --url."
        return str(error)

    @contextlib.contextmanager
    def running(self) -> Iterator[Invocation]:
        """Run a command: close its connections after it, and word what the client raises. Raises: Refused."""
        from afterthought_client import AfterthoughtError as ClientError  # heavy, and not needed for --help

        try:
            with self._clients:
                yield self
        except ClientError as error:
            raise Refused(self.why(error)) from None


@dataclass(frozen=True)
class Argument:
    """An argument or an option of a command, named as the client's method names it."""

    name: str
    kind: Any
    info: ArgumentInfo | OptionInfo
    default: Any = inspect.Parameter.empty
    resolve: Callable[[Invocation, str, str], str] | None = None
    """Returns what the operation takes for what was written, in an app."""

    @property
    def parameter(self) -> inspect.Parameter:
        """How typer reads it."""
        of: Any = Annotated[self.kind, self.info]
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=self.default, annotation=of)


def argument(
    name: str, metavar: str, text: str, kind: Any = str, default: Any = inspect.Parameter.empty, **more: Any
) -> Argument:
    """Return what is given by its position."""
    return Argument(name, kind, typer.Argument(metavar=metavar, help=text, show_default=False, **more), default)


def option(name: str, text: str, *flags: str, kind: Any = str, default: Any = None, **more: Any) -> Argument:
    """Return what is given by name; unless it is, the operation's own default holds."""
    return Argument(name, kind | None if default is None else kind, typer.Option(*flags, help=text, **more), default)


def needed_option(name: str, text: str, *flags: str, kind: Any = str) -> Argument:
    """Return what must be given by name."""
    return Argument(name, kind, typer.Option(*flags, help=text, show_default=False))


APP = argument("app_id", "APP", "The app's id.")
CONVERSATION = argument("conversation_id", "CONVERSATION", "The conversation's id.")
USER = option("user_id", "Only of this user, as the app calls them.", "--user")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A row. Of ``columns`` with ``nothing`` it shows a listing; of ``card`` one thing; else ``done`` or ``view``."""

    name: str
    """As it is typed, its group before it."""
    operation: str = ""
    """Of the client; empty where nothing is asked of a service."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Other operations that it carries out, with the options that choose them."""
    help: str = ""
    arguments: tuple[Argument, ...] = ()
    needs: str = ""
    """What to say where no option is given."""
    instead: tuple[str, str] = ("", "")
    """An argument, and the operation that is carried out where it is given."""
    question: str | Callable[[dict[str, Any]], str] = ""
    """Asked before, as what it does cannot be taken back."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """Makes the operation's arguments of what was given."""
    columns: Columns | None = None
    nothing: str = ""
    field: str = ""
    """Of the answer, where it has the listing; else it comes in pages."""
    rows: Callable[[list[Answer]], RenderableType] | None = None
    """How a listing is shown, where it is no table."""
    limit: int | None = None
    """It shows a listing and takes --limit, by default this, and --all."""
    card: Columns | None = None
    done: str | Callable[[Answer, dict[str, Any]], str | RenderableType] = ""
    """A sentence, with what was given in it, and of the answer as ``{answer[field]}``; or what makes it of both."""
    view: Callable[[Answer], RenderableType] | None = None
    after: Callable[[Invocation, Answer], None] | None = None
    run: Callable[..., None] | None = None
    """Does it all, where a command is more than its operation; its help and arguments are the function's."""
    part: str | None = None
    """The heading under which a group with many commands lists it."""
    cls: type[TyperCommand] | None = None

    @property
    def operations(self) -> set[str]:
        """All that it carries out, now this, now that."""
        return {self.operation, self.instead[1], *self.also} - {""}

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """What is typed after its name, but for what all commands share."""
        if self.run is not None:
            signature = inspect.signature(self.run, eval_str=True).parameters.values()
            own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in list(signature)[1:]]
        else:
            own = [one.parameter for one in self.arguments]
        return own + ([_keyword("yes", False, YesOption)] if self.question else [])

    def add_to(self, group: typer.Typer, commands: Sequence[Command]) -> None:
        """Register it with a group, beside the options that all commands share."""
        listing = [_keyword("most", self.limit, _LimitOption), _keyword("without_limit", False, _AllOption)]
        shared = [_keyword("as_json", False, JsonOption), _keyword("url", None, UrlOption),
                  _keyword("token", None, TokenOption)]  # fmt: skip

        def run(
            as_json: bool, url: str | None, token: str | None, most: int | None = None, without_limit: bool = False,
            **given: Any,
        ) -> None:  # fmt: skip
            with Invocation(as_json, url, token, None if without_limit else most, commands).running() as call:
                self._carry_out(call, given)

        run.__doc__ = self.help or (self.run.__doc__ if self.run else None)
        parameters = [*self.parameters, *(listing if self.limit else ()), *shared]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        group.command(self.name.split()[-1], cls=self.cls, rich_help_panel=self.part)(run)

    def _carry_out(self, call: Invocation, given: dict[str, Any]) -> None:
        if given.get("app_id") == "":
            raise Invalid("'' is no id.")
        require_finite(given)
        if self.run is not None:
            self.run(call, **given)
            return
        known = {one.name: one.resolve(call, given["app_id"], given[one.name]) for one in self.arguments if one.resolve}
        if self.question:
            question = self.question(given) if callable(self.question) else self.question.format(**given)
            confirm(question, given.pop("yes"))
        arguments = self.prepare({name: value for name, value in (given | known).items() if value is not None})
        require_finite(arguments)
        if self.needs and len(arguments) == sum(isinstance(one.info, ArgumentInfo) for one in self.arguments):
            raise typer.BadParameter(self.needs)
        operation = self.instead[1] if self.instead[0] in arguments else self.operation
        if self.nothing or self.rows:
            # Without --all, where that is one of its own options.
            call.limit = call.limit if self.field else arguments.pop("limit", call.limit)
            if self.field:
                found = call.invoke(getattr(call.client, operation), **arguments)[self.field]
            else:
                found = call.entries(getattr(call.client, f"iter_{operation.partition('_')[2]}"), **arguments)
            shown, nothing = self.columns or {}, self.nothing.format(**given)
            call.show(found, self.rows or (lambda rows: table(rows, shown, nothing)))
            return
        answer = call.invoke(getattr(call.client, operation), **arguments)
        if self.done:
            message = self.done(answer, given) if callable(self.done) else self.done.format(answer=answer, **given)
            call.show(answer, lambda _: plain(message) if isinstance(message, str) else message)
        else:
            call.show(answer, self.view or (lambda row: card(row, self.card)))
        if self.after is not None:
            self.after(call, answer)

    def written(self, operation: str, known: Mapping[str, Any]) -> str:
        """Return it as it is typed to carry out an operation of which some arguments are known."""
        values = {snake(name): value for name, value in known.items()}
        words = ["afterthought", self.name]
        for one in self.parameters:
            if not (info := next(iter(getattr(one.annotation, "__metadata__", ())), None)):
                continue
            value = values.get(one.name)
            open_word = (info.metavar or one.name.removesuffix("_id").upper()).strip("[].")
            word = open_word if value is None else shlex.quote(str(value))
            if isinstance(info, ArgumentInfo):
                words += [word] if value is not None or one.default is inspect.Parameter.empty else []
            elif isinstance(value, bool):
                words.append(flags_of(info)[0].split("/")[0 if value else -1])
            elif value not in (None, "") or one.default is inspect.Parameter.empty:
                words += [*(flags_of(info)[:1] or [f"--{one.name.replace('_', '-')}"]), word]
        return " ".join(filter(None, [*words, self.also.get(operation)]))


def flags_of(info: OptionInfo) -> list[str]:
    """Return how an option is written, where it says so itself."""
    # Typer has the first of them in the place of the default.
    return [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str) and one.startswith("-")]


def in_json(answer: Any) -> Any:
    """Return what a client answered as the service sent it."""
    return (
        answer.model_dump(mode="json", by_alias=True, exclude_unset=True) if hasattr(answer, "model_dump") else answer
    )


def given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def require_finite(given: Mapping[str, Any]) -> None:
    """Refuse what Python takes for a number and JSON has no word for: as null it would mean something else.

    Raises: typer.BadParameter.
    """
    for name, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise typer.BadParameter(f"--{name.replace('_', '-')}: {value} is no amount; give a number, such as 1.5.")


def or_null(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Have `none`, as users write it, be null in these arguments."""
    return lambda given: {
        name: None if name in names and value == "none" else value for name, value in given.items()
    }  # fmt: skip


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


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def snake(name: str) -> str:
    """Return a name of JSON as Python spells it."""
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)


def _unsendable(error: ValueError) -> str:
    return "What was given is not valid Unicode text." if "urrogate" in str(error) else str(error)

"""The settings by subject: what each is called, what it may be and what it is for.

``shared.base.settings`` puts them together and reads them.
"""

from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, SecretStr, field_validator

from shared.base.addresses import database_address, redis_address
from shared.text.languages import ENGLISH, KNOWN

_DAY = 86_400
LEAST_CONTEXT_TOKENS = 2048
_Seconds = Annotated[float, Field(gt=0, le=_DAY)]
_Folder = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
_Database = Annotated[str, AfterValidator(database_address)]
_Redis = Annotated[str, AfterValidator(redis_address)]
_SHORTEST_TASK_SECONDS, _STOPPING_SECONDS = 75.0, 10.0
_QUESTIONS = 2.5
"""How often a job can use up the patience of one question, and end in good order."""
_Price = Annotated[float, Field(ge=0, le=1_000_000)]


class SettingsGroup(BaseModel):
    """Settings of one subject. Its docstring is the heading it has in the reference."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, populate_by_name=True)


class InstallationSettings(SettingsGroup):
    """Where it lives."""

    home: _Folder = Field(Path("~/.afterthought"), description="Data directory: database, embedded Redis, token, logs.")
    host: str = Field("127.0.0.1", description="Address the HTTP interface listens on.")
    port: int = Field(8700, ge=0, le=65535, description="Port of the HTTP interface; 0 takes a free one.")
    admin_token: SecretStr | None = Field(
        None, description="Admin bearer token; when unset one is made and kept in the home, readable by its owner only."
    )
    read_token: SecretStr | None = Field(None, description="Bearer token that reads everything and changes nothing.")
    metrics_token: SecretStr | None = Field(None, description="Bearer token that reads /metrics and nothing else.")
    database_url: _Database | None = Field(
        None,
        validation_alias=AliasChoices("DATABASE_URL", "database_url"),
        description="PostgreSQL or SQLite address; when unset, SQLite in the home.",
    )
    redis_url: _Redis | None = Field(
        None,
        validation_alias=AliasChoices("REDIS_URL", "redis_url"),
        description="Redis the jobs travel over; when unset, `afterthought up` starts an embedded one in the home.",
    )
    log_format: Literal["console", "json"] = Field("console", description="How log lines are written.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe level logged.")
    metrics_dir: _Folder | None = Field(
        None, description="Where forked processes leave their metrics; when unset, `metrics` in the home."
    )
    metrics_apps: int = Field(
        20, ge=0, le=500, description="Most apps that are named in the metrics: those that spent most in 24 hours."
    )

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'afterthought.db'}"

    @property
    def metrics_path(self) -> Path:
        return self.metrics_dir or self.home / "metrics"


def _languages_in(value: str) -> frozenset[str]:
    return frozenset(filter(None, (one.strip().lower() for one in value.split(","))))


@dataclass(frozen=True)
class AddressOf:
    """Marks the setting of a provider's address, and so lets models be named ``PROVIDER:NAME``.

    What else there is to say of it, ``shared/llm/PROVIDER.py`` says; that is not imported to check a setting.
    """

    provider: str
    embeds: bool = False
    """Whether it has embedding models too."""


class ModelSettings(SettingsGroup):
    """Models."""

    ollama_host: Annotated[str, AddressOf("ollama", embeds=True)] = Field(
        "http://127.0.0.1:11434",
        validation_alias=AliasChoices("OLLAMA_HOST", "ollama_host"),
        description="Address of Ollama; used only when a model of its is set.",
    )
    ollama_num_parallel: int = Field(
        1, ge=1, le=1024,
        validation_alias=AliasChoices("OLLAMA_NUM_PARALLEL", "ollama_num_parallel"),
        description="Calls that Ollama does at once, as it is set there; no more workers than that are of use.",
    )  # fmt: skip
    openai_base_url: Annotated[str, AddressOf("openai", embeds=True)] = Field(
        "https://api.openai.com/v1",
        validation_alias=AliasChoices("AFTERTHOUGHT_OPENAI_BASE_URL", "OPENAI_BASE_URL", "openai_base_url"),
        description="Address for models `openai:NAME`: OpenAI's, or any server of its protocol; with its /v1. "
        "Where it is not set, OPENAI_BASE_URL is obeyed.",
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key"),
        description="Key for AFTERTHOUGHT_OPENAI_BASE_URL; a server of your own may need none.",
    )  # fmt: skip
    anthropic_base_url: Annotated[str, AddressOf("anthropic")] = Field(
        "https://api.anthropic.com",
        validation_alias=AliasChoices("AFTERTHOUGHT_ANTHROPIC_BASE_URL", "ANTHROPIC_BASE_URL", "anthropic_base_url"),
        description="Address for models `anthropic:NAME`: Anthropic's, or a server of its protocol; without /v1. "
        "Where it is not set, ANTHROPIC_BASE_URL is obeyed.",
    )
    anthropic_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("ANTHROPIC_API_KEY", "anthropic_api_key"),
        description="Key for AFTERTHOUGHT_ANTHROPIC_BASE_URL.",
    )  # fmt: skip
    model: str | None = Field(
        None, description="Model that writes memories, as `PROVIDER:NAME`; unset: the extractive agent."
    )
    small_model: str | None = Field(
        None, description="Smaller model the loop thinks with while energy is low, as `PROVIDER:NAME`; unset: the same."
    )
    model_context_tokens: int = Field(
        8192,
        ge=LEAST_CONTEXT_TOKENS,
        le=1_048_576,
        description="The model's window, tokens; sent to Ollama as num_ctx.",
    )

    model_size: Literal["small", "large"] | None = Field(
        None,
        description="How the model is asked: a `small` one shortens what the built-in agent chose and answers without "
        "tools, a `large` one reads the talk and uses tools; unset: by the parameters its server or its name tells.",
    )
    model_languages: str = Field(
        ENGLISH, description="Languages in which a small model shortens, as two letters, by commas (`en,de`)."
    )

    on_bad_output: Literal["rules", "dead_letter"] = Field(
        "rules",
        description="What becomes of a job whose model answers nothing usable three times: the extractive agent does "
        "it, or it is a dead letter.",
    )

    @field_validator("model_languages")
    @classmethod
    def _known_languages(cls, value: str) -> str:
        unknown = _languages_in(value) - KNOWN
        if unknown:
            raise ValueError(f"{', '.join(sorted(unknown))} cannot be told; there are {', '.join(sorted(KNOWN))}")
        return value

    @property
    def shortened_languages(self) -> frozenset[str]:
        """In which a small model is asked."""
        return _languages_in(self.model_languages)

    @field_validator("model", "small_model")
    @classmethod
    def _known_provider(cls, value: str | None) -> str | None:
        if value is not None and provider_of(value) is None:
            raise ValueError(f"must be written as {_forms_of(MODEL_PROVIDERS)}, for example ollama:llama3.2:3b")
        return value

    @field_validator("openai_base_url", "anthropic_base_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value.rstrip("/")

    @field_validator("ollama_host")
    @classmethod
    def _http_address(cls, value: str) -> str:
        if value.startswith(("http://", "https://")):
            return value
        # As Ollama itself reads it: without a scheme, its own port is meant.
        return f"http://{value}" if ":" in value else f"http://{value}:11434"


_ADDRESSES = [
    one for field in ModelSettings.model_fields.values() for one in field.metadata if isinstance(one, AddressOf)
]
MODEL_PROVIDERS = tuple(one.provider for one in _ADDRESSES)
"""Whoever serves models, as settings and rows name them: ``PROVIDER:NAME``."""
EMBEDDING_PROVIDERS = tuple(one.provider for one in _ADDRESSES if one.embeds)
"""Those of them that serve embedding models too."""


def provider_of(model: str) -> str | None:
    """Return whose ``model`` is; None where it is nobody's, or has no name."""
    provider, _, name = model.partition(":")
    return provider if name and provider in MODEL_PROVIDERS else None


def _forms_of(providers: tuple[str, ...]) -> str:
    return " or ".join(f"{provider}:NAME" for provider in providers)


class MemorySettings(SettingsGroup):
    """Memories."""

    memory_cap: int = Field(
        10, ge=1, le=10, description="Most memories of a subject: of a user of an app, or of the app."
    )
    memory_max_chars: int = Field(200, ge=40, le=2000, description="Longest memory, characters.")
    context_token_budget: int = Field(
        2000, ge=50, le=100_000, description="Most tokens for memories and facts in a context that names no budget."
    )


class FactSettings(SettingsGroup):
    """Facts."""

    facts: bool = Field(True, description="Whether facts are extracted of conversations.")
    facts_every_messages: int = Field(
        5, ge=2, le=1000, description="Messages after which facts are extracted of a conversation that goes on."
    )
    facts_debounce_seconds: float = Field(
        2.0, ge=0, le=3600, description="How long such an extraction waits for more to be said."
    )
    facts_flush_minutes: float = Field(
        10.0, ge=0, le=100_000, description="When facts are extracted of a conversation that fell silent; 0: never."
    )
    fact_undo_seconds: _Seconds = Field(60.0, description="How long the deletion of a fact can be taken back.")
    fact_clear_seconds: _Seconds = Field(8.0, description="How long clearing all facts can be taken back.")
    embedding: str | None = Field(
        None, description="Embedding model, as `PROVIDER:NAME`, or `ngrams` for none; unset: the built-in one."
    )

    @field_validator("embedding")
    @classmethod
    def _known_embedding(cls, value: str | None) -> str | None:
        if value is not None and value != "ngrams" and provider_of(value) not in EMBEDDING_PROVIDERS:
            raise ValueError(f"must be ngrams, or written as {_forms_of(EMBEDDING_PROVIDERS)}")
        return value


class SessionSettings(SettingsGroup):
    """Recorded sessions."""

    sessions_dir: _Folder | None = Field(
        None, description="Where recorded sessions are kept; loop and workers share it. Unset: `sessions` in the home."
    )
    sessions_max_mb: int = Field(512, ge=1, le=65_536, description="Largest transcript that is taken in, MB.")
    sessions_max_lines: int = Field(
        500_000, ge=100, le=100_000_000, description="Most lines of a transcript that is taken in."
    )
    sessions_scan_seconds: float = Field(
        60.0, ge=1, le=_DAY, description="How often folders with auto-registration are looked through."
    )
    sessions_cache_mb: int = Field(
        1024,
        ge=1,
        le=1_048_576,
        description="Most that uploads and archives under way of all apps may take in the store, MB.",
    )

    @property
    def sessions_max_bytes(self) -> int:
        return self.sessions_max_mb * 2**20


class EnergySettings(SettingsGroup):
    """Energy."""

    energy_refill_per_second: float = Field(
        1.0, ge=0, le=1000, description="Units regained per second of wall-clock time."
    )
    energy_gate_percent: float = Field(
        20.0, ge=0, le=100, description="Memory work starts only above this level, per cent."
    )
    price_prompt_token: _Price = Field(0.008, description="Units per prompt token.")
    price_completion_token: _Price = Field(0.060, description="Units per generated token.")
    compaction_price_factor: _Price = Field(2.2, description="Multiplies the price of a compaction call.")
    extractive_fraction: float = Field(
        0.01, ge=0, le=1, description="Share of a model's price that the extractive agent is charged."
    )
    small_model_price_factor: _Price = Field(0.25, description="Multiplies the price of a call of the small model.")
    embedding_price_factor: _Price = Field(
        0.02, description="Multiplies the price of embedding with a model of a server."
    )
    lock_seconds: _Seconds = Field(
        5.0,
        description="A loop is on standby while another regulates, and takes over when that one is silent this long.",
    )


class ThinkingSettings(SettingsGroup):
    """Thinking: the loop answers conversations when a model is set."""

    thinking: bool = Field(
        True, description="Whether the loop answers conversations of apps that do not answer for themselves."
    )
    thinking_rounds: int = Field(
        5,
        ge=1,
        le=20,
        description="Most model calls of one turn with tools. Where those bring nothing usable, up to three follow "
        "that ask for an answer in a bounded form.",
    )
    answer_after_seconds: float = Field(
        1.0, ge=0, le=3600, description="How long a user's message stands before the loop thinks about it."
    )
    answer_within_hours: float = Field(
        24.0, gt=0, le=8760, description="Messages that waited longer than this are left unanswered, hours."
    )
    review_minutes: float = Field(
        30.0, ge=0, le=100_000, description="Least time between two reviews of an app's conversations; 0: no reviews."
    )


class EventSettings(SettingsGroup):
    """Streams and webhooks."""

    event_hours: float = Field(24.0, gt=0, le=8760, description="How long a listener can resume from, hours.")
    stream_heartbeat_seconds: _Seconds = Field(15.0, description="Longest silence of a live stream.")
    webhook_timeout_seconds: _Seconds = Field(10.0, description="Longest a webhook may take to answer, in total.")
    webhook_max_attempts: int = Field(8, ge=1, le=100, description="Attempts before a delivery becomes a dead letter.")
    webhook_disable_hours: float = Field(
        24.0, gt=0, le=720, description="A webhook that took nothing for so long is disabled, hours."
    )
    webhook_internal_hosts: str = Field(
        "", description="Addresses or networks inside that webhooks may call, by commas (`10.1.0.0/16`); others never."
    )

    @field_validator("webhook_internal_hosts")
    @classmethod
    def _networks(cls, value: str) -> str:
        for part in filter(None, (one.strip() for one in value.split(","))):
            # Called for its error alone.
            ip_network(part)
        return value


class JobSettings(SettingsGroup):
    """Jobs."""

    model_timeout_seconds: _Seconds = Field(
        120.0,
        description="Patience: longest a model may take for one question with its repeats, or for one call while it "
        "thinks. What has to be longer follows by itself.",
    )
    task_soft_limit_seconds: _Seconds | None = Field(
        None,
        description="A task is asked to stop after this, and its process is killed 10 seconds later; longer than the "
        "patience. Unset: two and a half times that, and 75 at least.",
    )
    lease_seconds: _Seconds = Field(100.0, description="A job whose owner has been silent this long is taken back.")
    heartbeat_seconds: _Seconds = Field(10.0, description="How often the owner of a job renews its lease.")
    queued_seconds: _Seconds = Field(60.0, description="A sent job nobody has begun after this is sent again.")
    job_max_attempts: int = Field(5, ge=1, le=100, description="Attempts before a job becomes a dead letter.")
    retry_base_seconds: _Seconds = Field(2.0, description="First wait before a retry; doubles, with jitter.")
    retry_max_seconds: _Seconds = Field(300.0, description="Longest wait before a retry.")
    in_flight_jobs: int | None = Field(
        None, ge=1, le=10_000,
        description="Most jobs sent and not finished, for each worker that is there; unset: four times its "
        "processes. What is sent is done in that order, whoever asks meanwhile.",
    )  # fmt: skip
    worker_concurrency: int = Field(2, ge=1, le=256, description="Processes of one worker.")
    worker_name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9@._-]{1,100}$",
        description="Name of this worker, the same after a restart and unlike any other's; unset: the machine's.",
    )
    worker_metrics_port: int = Field(0, ge=0, le=65535, description="Port for a worker's own /metrics; 0: none.")
    worker_silence_seconds: _Seconds = Field(
        20.0, description="A worker that is idle and hears nothing from its queue this long restarts itself."
    )
    tick_seconds: _Seconds = Field(1.0, description="Longest the loop sleeps between ticks; news wakes it earlier.")
    drain_seconds: _Seconds = Field(10.0, description="How long a stopping process finishes what it began.")

    @property
    def soft_limit_seconds(self) -> float:
        """When a task is asked to stop. A job may ask several questions, and what needs no model takes time as well."""
        return self.task_soft_limit_seconds or max(_SHORTEST_TASK_SECONDS, _QUESTIONS * self.model_timeout_seconds)

    @property
    def hard_limit_seconds(self) -> float:
        """When a task's process is killed.

        Redis delivers a message again only after this. The lease may be shorter: it is renewed while a task runs.
        """
        return self.soft_limit_seconds + _STOPPING_SECONDS


class RetentionSettings(SettingsGroup):
    """How long things are kept once they are over."""

    job_days: float = Field(30.0, ge=0, le=36_500, description="Days that jobs are kept which ended; 0: for ever.")
    dead_letter_days: float = Field(
        180.0, ge=0, le=36_500, description="Days that dead letters wait to be replayed; 0: for ever."
    )
    ledger_days: float = Field(
        60.0, ge=0, le=36_500,
        description="Days that each call of a model is a row of the ledger, 2 or more; then sums of days. 0: always.",
    )  # fmt: skip
    history_days: float = Field(
        365.0, ge=0, le=36_500,
        description="Days that the history of memories and facts that are gone keeps their text; 0: for ever.",
    )  # fmt: skip

    @field_validator("ledger_days")
    @classmethod
    def _longer_than_windows(cls, value: float) -> float:
        if 0 < value < 2:
            raise ValueError("must be 2 or more, as spending is looked back on for a day; or 0")
        return value


class TracingSettings(SettingsGroup):
    """Traces, by OpenTelemetry's own variables. Its others, as `OTEL_EXPORTER_OTLP_HEADERS`, are heeded too."""

    otlp_endpoint: str | None = Field(
        None,
        validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_ENDPOINT", "otlp_endpoint"),
        description="Address of a collector that takes OTLP over HTTP, as `http://127.0.0.1:4318`; unset: no traces.",
    )
    otlp_traces_endpoint: str | None = Field(
        None,
        validation_alias=AliasChoices("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "otlp_traces_endpoint"),
        description="The same for traces alone, whole, with its /v1/traces.",
    )
    otel_sdk_disabled: bool = Field(
        False,
        validation_alias=AliasChoices("OTEL_SDK_DISABLED", "otel_sdk_disabled"),
        description="Whether nothing is traced, whatever address is set.",
    )

    @field_validator("otlp_endpoint", "otlp_traces_endpoint")
    @classmethod
    def _collector(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return value

    @property
    def collector(self) -> str | None:
        """Where traces are sent to; None where nothing is traced."""
        return None if self.otel_sdk_disabled else self.otlp_traces_endpoint or self.otlp_endpoint


class HttpSettings(SettingsGroup):
    """The HTTP interface."""

    max_body_bytes: int = Field(8_000_000, ge=10_000, description="Largest request body, bytes.")
    max_message_chars: int = Field(200_000, ge=1000, description="Longest single message, characters.")
    app_requests: int = Field(
        32, ge=1, le=1000,
        description="Most requests of one app in flight in one loop (of a user's token a quarter); more get 429.",
    )  # fmt: skip
    app_streams: int = Field(100, ge=1, le=10_000, description="Most streams and long polls of one app in one loop.")
    app_costly_requests: int = Field(
        2, ge=1, le=100,
        description="Most searches, contexts, imports, exports and transcripts of one app that are at work at once.",
    )  # fmt: skip
    app_wait_seconds: _Seconds = Field(
        5.0, description="Longest such a request waits for its turn, before it is answered 429."
    )
    idempotency_hours: float = Field(24.0, gt=0, le=8760, description="How long an Idempotency-Key is kept, hours.")
    pages: bool | None = Field(
        None, description="Whether the pages are served; when unset, only where the service listens on loopback."
    )

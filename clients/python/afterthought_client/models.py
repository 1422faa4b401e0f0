"""The shapes of the service's answers and bodies. Generated: `python -m ops.client`."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from afterthought_client.base import Model


class AddMessage(Model):
    """
    One message, as OpenAI's or Anthropic's chat programs have it. The same messageId twice is one message.
    """

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    """
    Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls.
    """
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    """
    The calls an assistant makes.
    """
    tool_call_id: str | None = None
    """
    Of the call this is the result of.
    """
    function_call: dict[str, Any] | None = None
    """
    What tool_calls replaced.
    """
    refusal: str | None = None
    audio: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = None
    reasoning: Any | None = None
    reasoning_content: Any | None = None
    reasoning_details: Any | None = None
    thinking: Any | None = None
    thinking_blocks: Any | None = None
    images: list[Any] | None = None
    parsed: Any | None = None
    tool_name: str | None = None
    cache_control: Any | None = None
    provider_specific_fields: Any | None = None
    message_id: Annotated[str | None, Field(alias="messageId")] = None
    created_at: Annotated[AwareDatetime | None, Field(alias="createdAt")] = None
    """
    When it was said. Its offset is kept and tells what day it was; UTC's (Z) tells nothing of that.
    """
    tokens: int | None = None
    """
    Its length as your model's provider counted it.
    """


class AddMessages(Model):
    """
    Several messages, in order.
    """

    messages: list[AddMessage]


class AddWebhook(Model):
    """
    Adds a webhook.
    """

    url: str
    kinds: (
        list[
            Literal[
                "answer.sent",
                "answer.pending",
                "answer.rejected",
                "conversation.ended",
                "conversation.snoozed",
                "conversation.woken",
                "memory.created",
                "memory.changed",
                "memory.removed",
                "memories.purged",
                "fact.created",
                "fact.changed",
                "fact.removed",
                "profile.changed",
                "webhook.disabled",
                "job.deferred",
                "job.finished",
            ]
        ]
        | None
    ) = None
    """
    Kinds of events; empty means all.
    """
    secret: str | None = None


class AddedWebhook(Model):
    """
    A new webhook; its secret is shown this once.
    """

    webhook_id: Annotated[str, Field(alias="webhookId")]
    app_id: Annotated[str, Field(alias="appId")]
    url: str
    kinds: list[str]
    enabled: bool
    disabled_at: Annotated[AwareDatetime | None, Field(alias="disabledAt")]
    disabled_why: Annotated[str | None, Field(alias="disabledWhy")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    tried_at: Annotated[AwareDatetime | None, Field(alias="triedAt")]
    """
    When something was last sent there.
    """
    outcome: Literal["delivered", "gone", "refused", "unreachable", "forbidden", "dropped"] | None
    """
    How that went.
    """
    status: int | None
    """
    The HTTP status it answered, if it answered.
    """
    failures: int
    """
    Attempts that failed since it last took something.
    """
    failing_since: Annotated[AwareDatetime | None, Field(alias="failingSince")]
    """
    When the first of them was; after a day (AFTERTHOUGHT_WEBHOOK_DISABLE_HOURS) it is disabled.
    """
    retry_at: Annotated[AwareDatetime | None, Field(alias="retryAt")]
    """
    When it is tried again; what is to be sent there waits till then.
    """
    secret: str | None
    """
    Signs what is sent; null when this answer is a repetition.
    """


class AgeingDone(Model):
    """
    A run.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    dry_run: Annotated[bool, Field(alias="dryRun")]
    plan: dict[str, Any]


class AnswerAnswer(Model):
    """
    An answer the loop thought out.
    """

    answer_id: Annotated[str, Field(alias="answerId")]
    app_id: Annotated[str, Field(alias="appId")]
    conversation_id: Annotated[str, Field(alias="conversationId")]
    state: Literal["pending", "sent", "rejected", "superseded"]
    content: str | None
    """
    While it waits for approval; later its text stands in the message alone.
    """
    answers_position: Annotated[int, Field(alias="answersPosition")]
    """
    Position of the message it answers.
    """
    model: str
    message_id: Annotated[str | None, Field(alias="messageId")]
    """
    The message it became.
    """
    reason: str | None
    """
    Why it was rejected.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    decided_at: Annotated[AwareDatetime | None, Field(alias="decidedAt")]
    decided_by: Annotated[str | None, Field(alias="decidedBy")]


class AnswerList(Model):
    """
    Answers, newest first.
    """

    answers: list[AnswerAnswer]
    cursor: str | None


class AppAnswer(Model):
    """
    An app.
    """

    app_id: Annotated[str, Field(alias="appId")]
    name: str
    config: dict[str, Any]
    """
    The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does.
    """
    installed: bool
    answered_by: Annotated[Literal["loop", "app"], Field(alias="answeredBy")]
    """
    Who answers its conversations: the loop, when a model is set, or the app itself.
    """
    approve_answers: Annotated[bool, Field(alias="approveAnswers")]
    """
    Whether a person approves each answer of the loop's before it is sent.
    """
    weight: int
    """
    The app's share of the work beside other apps'.
    """
    shared_memory: Annotated[bool, Field(alias="sharedMemory")]
    """
    Whether what names no user (memories, facts, old messages) is recalled for every user of the app.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")]
    """
    Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's.
    """
    hourly_budget: Annotated[float | None, Field(alias="hourlyBudget")]
    """
    Units an app may spend in any 60 minutes.
    """
    daily_budget: Annotated[float | None, Field(alias="dailyBudget")]
    """
    Units an app may spend in any 24 hours.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    uninstalled_at: Annotated[AwareDatetime | None, Field(alias="uninstalledAt")]


class AppDetails(Model):
    """
    An app and how much it holds.
    """

    app_id: Annotated[str, Field(alias="appId")]
    name: str
    config: dict[str, Any]
    """
    The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does.
    """
    installed: bool
    answered_by: Annotated[Literal["loop", "app"], Field(alias="answeredBy")]
    """
    Who answers its conversations: the loop, when a model is set, or the app itself.
    """
    approve_answers: Annotated[bool, Field(alias="approveAnswers")]
    """
    Whether a person approves each answer of the loop's before it is sent.
    """
    weight: int
    """
    The app's share of the work beside other apps'.
    """
    shared_memory: Annotated[bool, Field(alias="sharedMemory")]
    """
    Whether what names no user (memories, facts, old messages) is recalled for every user of the app.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")]
    """
    Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's.
    """
    hourly_budget: Annotated[float | None, Field(alias="hourlyBudget")]
    """
    Units an app may spend in any 60 minutes.
    """
    daily_budget: Annotated[float | None, Field(alias="dailyBudget")]
    """
    Units an app may spend in any 24 hours.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    uninstalled_at: Annotated[AwareDatetime | None, Field(alias="uninstalledAt")]
    memories: int
    open_conversations: Annotated[int, Field(alias="openConversations")]
    ended_conversations: Annotated[int, Field(alias="endedConversations")]
    loop_answers: Annotated[bool, Field(alias="loopAnswers")]
    """
    Whether the loop answers its conversations now: it is to, and there is a model that thinks.
    """


class AppEnergy(Model):
    """
    What an app has spent.
    """

    app_id: Annotated[str, Field(alias="appId")]
    total: float
    last24h: float
    last1h: float
    last1min: float
    by_kind: Annotated[dict[str, float], Field(alias="byKind")]
    hourly_budget: Annotated[float | None, Field(alias="hourlyBudget")]
    hourly_status: Annotated[Literal["within", "depleted", "exceeded"] | None, Field(alias="hourlyStatus")]
    daily_budget: Annotated[float | None, Field(alias="dailyBudget")]
    daily_status: Annotated[Literal["within", "depleted", "exceeded"] | None, Field(alias="dailyStatus")]
    held_until: Annotated[AwareDatetime | None, Field(alias="heldUntil")]
    """
    Until when a budget holds the app's work back; null: it does not.
    """


class AppHoldings(Model):
    """
    How much an app holds, and what of it waits for a person.
    """

    users: int
    """
    Those that are named.
    """
    conversations: int
    memories: int
    pending_answers: Annotated[int, Field(alias="pendingAnswers")]
    """
    Answers of the loop's that a person is to approve.
    """
    last_active_at: Annotated[AwareDatetime | None, Field(alias="lastActiveAt")]
    """
    When something happened last in one of its conversations.
    """


class ApproveAnswer(Model):
    """
    Sends an answer, in other words where ``content`` is given.
    """

    content: str | None = None


class ArchivedApp(Model):
    """
    The app itself. Budgets are in micro-units.
    """

    app_id: Annotated[str, Field(alias="appId")]
    name: str
    config: dict[str, Any] | None = None
    hourly_budget_micro: Annotated[int | None, Field(alias="hourlyBudgetMicro")] = None
    daily_budget_micro: Annotated[int | None, Field(alias="dailyBudgetMicro")] = None
    shared_memory: Annotated[bool, Field(alias="sharedMemory")] = False
    time_zone: Annotated[str | None, Field(alias="timeZone")] = None


class ArchivedFactChange(Model):
    """
    One thing that happened to a fact.
    """

    fact_id: Annotated[int, Field(alias="factId")]
    kind: Literal[
        "learned",
        "written",
        "repeated",
        "edited",
        "replaced",
        "pinned",
        "unpinned",
        "moved",
        "deleted",
        "undone",
        "evicted",
        "expired",
        "restored",
        "erased",
    ]
    actor: str
    reason: str
    before: str | None = None
    after: str | None = None
    conversation_ids: Annotated[list[str] | None, Field(alias="conversationIds")] = None
    related_fact_id: Annotated[int | None, Field(alias="relatedFactId")] = None
    at: AwareDatetime


class ArchivedFactSource(Model):
    """
    One place where a fact was said; without a conversation: by hand.
    """

    conversation_id: Annotated[str | None, Field(alias="conversationId")] = None
    message_ids: Annotated[list[str] | None, Field(alias="messageIds")] = None
    statement: str
    category: Literal["project", "preference", "identity"]
    agent: str
    mentions: int = 1
    said_at: Annotated[AwareDatetime | None, Field(alias="saidAt")] = None
    first_seen: Annotated[AwareDatetime, Field(alias="firstSeen")]
    last_seen: Annotated[AwareDatetime, Field(alias="lastSeen")]


class ArchivedMessage(Model):
    """
    A message; its place in the list is its position.
    """

    message_id: Annotated[str, Field(alias="messageId")]
    role: Literal["user", "assistant", "system", "tool"]
    name: str | None = None
    content: str
    payload: dict[str, Any] | None = None
    tokens: int | None = None
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    utc_offset_minutes: Annotated[int | None, Field(alias="utcOffsetMinutes")] = None


class ArchivedOrigin(Model):
    """
    The making of a memory, whether it still stands or not.
    """

    memory_id: Annotated[int, Field(alias="memoryId")]
    user_id: Annotated[str | None, Field(alias="userId")] = None
    conversation_id: Annotated[str | None, Field(alias="conversationId")] = None
    agent: str
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]


class ArchivedSource(Model):
    """
    A conversation whose words stand in a text.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    message_ids: Annotated[list[str] | None, Field(alias="messageIds")] = None


class ArchivedStanding(Model):
    """
    What, beside its text, a memory was.
    """

    importance: int = 5
    tags: list[str] | None = None
    pinned: bool = False
    agent: str
    sources: list[ArchivedSource] | None = None


class ArchivedSummary(Model):
    """
    A summary of a part of a conversation, from one position to another, both included.
    """

    content: str
    agent: str
    from_position: Annotated[int, Field(alias="fromPosition")]
    to_position: Annotated[int, Field(alias="toPosition")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]


class ArchivedUser(Model):
    """
    What was set for a user.
    """

    user_id: Annotated[str, Field(alias="userId")]
    time_zone: Annotated[str | None, Field(alias="timeZone")] = None


class Arrived(Model):
    """
    How many were added, and how many were there already.
    """

    imported: int
    skipped: int


class AskSuggestions(Model):
    """
    Where somebody works and what on; what is left out does not count.
    """

    working_dir: Annotated[str | None, Field(alias="workingDir")] = None
    files: list[str] | None = None
    topics: list[str] | None = None
    text: str | None = None
    token_budget: Annotated[int, Field(alias="tokenBudget")] = 16000


class AuditLine(Model):
    """
    Something that happened at the gate; it holds no text of a profile.
    """

    user_id: Annotated[str, Field(alias="userId")]
    kind: Literal["granted", "revoked", "written", "erased", "used", "withheld"]
    actor: str
    count: int
    """
    How often; the same use by the same caller within an hour is one line.
    """
    at: AwareDatetime
    last_at: Annotated[AwareDatetime, Field(alias="lastAt")]


class AuditList(Model):
    """
    Lines of the audit, newest first.
    """

    audit: list[AuditLine]
    cursor: str | None


class BrowserConfiguration(Model):
    """
    How pages show sessions.
    """

    default_view: Annotated[
        Literal["timeline", "sessions", "keepits", "storage"],
        Field(alias="defaultView"),
    ] = "timeline"
    show_token_estimates: Annotated[bool, Field(alias="showTokenEstimates")] = True
    confirm_destructive_actions: Annotated[bool, Field(alias="confirmDestructiveActions")] = True


class ChangeAnswer(Model):
    """
    One thing that happened to a memory.
    """

    change_id: Annotated[int, Field(alias="changeId")]
    memory_id: Annotated[int, Field(alias="memoryId")]
    kind: Literal["created", "edited", "merged", "absorbed", "removed", "gave_way", "restored", "erased"]
    actor: str
    reason: str
    before: str | None
    after: str | None
    related_memory_id: Annotated[int | None, Field(alias="relatedMemoryId")]
    job_id: Annotated[str | None, Field(alias="jobId")]
    at: AwareDatetime


class ChangeApp(Model):
    """
    Changes an app; what is left out stays. A budget of null is none, a time zone of null UTC.
    """

    name: str | None = None
    config: dict[str, Any] | None = None
    """
    The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does.
    """
    hourly_budget: Annotated[float | None, Field(alias="hourlyBudget")] = None
    daily_budget: Annotated[float | None, Field(alias="dailyBudget")] = None
    answered_by: Annotated[Literal["loop", "app"] | None, Field(alias="answeredBy")] = None
    """
    Who answers its conversations: the loop, when a model is set, or the app itself.
    """
    approve_answers: Annotated[bool | None, Field(alias="approveAnswers")] = None
    """
    Whether a person approves each answer of the loop's before it is sent.
    """
    weight: int | None = None
    shared_memory: Annotated[bool | None, Field(alias="sharedMemory")] = None
    """
    Whether what names no user (memories, facts, old messages) is recalled for every user of the app.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")] = None
    """
    Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's.
    """


class ChangeBrowserConfiguration(Model):
    """
    Changes: How pages show sessions.
    """

    default_view: Annotated[
        Literal["timeline", "sessions", "keepits", "storage"] | None,
        Field(alias="defaultView"),
    ] = None
    show_token_estimates: Annotated[bool | None, Field(alias="showTokenEstimates")] = None
    confirm_destructive_actions: Annotated[bool | None, Field(alias="confirmDestructiveActions")] = None


class ChangeCompressionBase(Model):
    """
    Changes: The least weight that survives at no distance at all, by aggressiveness.
    """

    light: float | None = None
    moderate: float | None = None
    aggressive: float | None = None


class ChangeConsent(Model):
    """
    Whether a user agrees to having a profile.
    """

    app_id: Annotated[str, Field(alias="appId")]
    user_id: Annotated[str | Literal[""], Field(alias="userId")] = ""
    """
    A user of the app; empty for an app that names none.
    """
    consent: bool


class ChangeConversation(Model):
    """
    Changes an open conversation; what is left out stays. A time zone of null is none.
    """

    time_zone: Annotated[str | None, Field(alias="timeZone")] = None
    """
    Whose days are meant in it, an IANA name; without it the user's, or what its messages came with.
    """
    memory: Literal["on", "read", "off"] | None = None
    """
    on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither. What was drawn from it before stays.
    """


class ChangeDefaultsConfiguration(Model):
    """
    Changes: What holds where a request or a project does not say.
    """

    compression_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"] | None,
        Field(alias="compressionPreset"),
    ] = None
    keepit_decay_enabled: Annotated[bool | None, Field(alias="keepitDecayEnabled")] = None
    """
    False: marked parts all survive.
    """
    auto_register_sessions: Annotated[bool | None, Field(alias="autoRegisterSessions")] = None
    """
    Whether projects' folders are looked through.
    """
    model: str | None = None
    """
    Who compresses.
    """


class ChangeFacts(Model):
    """
    Changes many facts, all or none.
    """

    action: Literal["delete", "move", "pin", "unpin"]
    ids: list[int]
    category: Literal["project", "preference", "identity"] | None = None
    """
    Where to; needed to move, and only then.
    """


class ChangeKeepitDecay(Model):
    """
    Changes: What decides whether marked parts survive, beside their weight, the ratio and the distance.
    """

    compression_base: Annotated[ChangeCompressionBase | None, Field(alias="compressionBase")] = None
    max_session_distance: Annotated[int | None, Field(alias="maxSessionDistance")] = None
    """
    From here on distance makes no more difference.
    """
    pinned_weight: Annotated[float | None, Field(alias="pinnedWeight")] = None
    """
    What weighs this much always survives.
    """


class ChangeLine(Model):
    """
    What was done: who, why, before and after.
    """

    subject: str
    session_id: Annotated[str | None, Field(alias="sessionId")]
    kind: str
    actor: str
    reason: str
    before: dict[str, Any]
    after: dict[str, Any]
    at: AwareDatetime


class ChangeList(Model):
    """
    Changes: of one memory oldest first, of an app newest first.
    """

    changes: list[ChangeAnswer]
    cursor: str | None = None


class ChangeProjectSettings(Model):
    """
    Changes: What holds for all sessions of a project.
    """

    default_compression_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"] | None,
        Field(alias="defaultCompressionPreset"),
    ] = None
    auto_register_new_sessions: Annotated[bool | None, Field(alias="autoRegisterNewSessions")] = None
    """
    Whether its folder is looked through for sessions.
    """
    keepit_decay_enabled: Annotated[bool | None, Field(alias="keepitDecayEnabled")] = None
    model: str | None = None
    """
    Who compresses; null: what is set up.
    """
    compression_retention: Annotated[str | int | None, Field(alias="compressionRetention")] = None
    keepit_decay: Annotated[ChangeKeepitDecay | None, Field(alias="keepitDecay")] = None


class ChangeStorageConfiguration(Model):
    """
    Changes: What is kept, and how much.
    """

    max_cache_size: Annotated[str | int | None, Field(alias="maxCacheSize")] = None
    """
    Of uploads and archives under way.
    """
    compression_retention: Annotated[str | int | None, Field(alias="compressionRetention")] = None
    """
    `all`, so many newest versions of a session, or `30 days`.
    """


class ChangeUser(Model):
    """
    Changes what is set for a user; what is left out stays.
    """

    time_zone: Annotated[str | None, Field(alias="timeZone")] = None
    """
    Whose days are meant by what they say, an IANA name; null: the days of what their messages came with.
    """


class ChangeWebhook(Model):
    """
    Changes a webhook; what is left out stays.
    """

    url: str | None = None
    kinds: (
        list[
            Literal[
                "answer.sent",
                "answer.pending",
                "answer.rejected",
                "conversation.ended",
                "conversation.snoozed",
                "conversation.woken",
                "memory.created",
                "memory.changed",
                "memory.removed",
                "memories.purged",
                "fact.created",
                "fact.changed",
                "fact.removed",
                "profile.changed",
                "webhook.disabled",
                "job.deferred",
                "job.finished",
            ]
        ]
        | None
    ) = None
    enabled: bool | None = None


class CompactionDay(Model):
    """
    How room was made on a day, by outcome.
    """

    day: date
    """
    UTC.
    """
    compactions: int
    outcomes: dict[str, int]


class CompactionDays(Model):
    """
    How room was made, day by day, the oldest first; days on which none was made too.
    """

    app_id: Annotated[str, Field(alias="appId")]
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Null: of all of the app's memories.
    """
    compactions: int
    days: list[CompactionDay]


class ComponentItem(Model):
    """
    A session's part in a composition.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    version_id: Annotated[str, Field(alias="versionId")]
    """
    The version that is used, or `original`.
    """
    version_state: Annotated[Literal["working", "ready", "failed"] | None, Field(alias="versionState")]
    """
    Whether that version is there yet; null for the original.
    """
    order: int
    allocation: int
    """
    Tokens it may take; more where others leave some.
    """
    token_contribution: Annotated[int, Field(alias="tokenContribution")]
    """
    Tokens it takes, with its heading.
    """
    left_out: Annotated[int, Field(alias="leftOut")]
    """
    Segments for which there was no room.
    """
    stale: bool
    """
    Whether the version covers less than the session holds by now.
    """
    recompress: dict[str, Any] | None
    """
    Settings and reason, where a version was made for it.
    """


class ComposeAgain(Model):
    """
    Asks for the same composition over what there is now.
    """

    name: str | None = None
    """
    Of the new one; unless said, it takes this one's place.
    """
    replace: bool = False


class CompositionAnswer(Model):
    """
    A composition, without what it says.
    """

    composition_id: Annotated[str, Field(alias="compositionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    name: str
    state: Literal["working", "ready", "failed"]
    failure: str | None
    """
    Why it failed, and what to do.
    """
    job_id: Annotated[str | None, Field(alias="jobId")]
    token_budget: Annotated[int, Field(alias="tokenBudget")]
    total_tokens: Annotated[int, Field(alias="totalTokens")]
    total_messages: Annotated[int, Field(alias="totalMessages")]
    components: list[ComponentItem]
    """
    In order; none once it has failed.
    """
    used_in_sessions: Annotated[list[str], Field(alias="usedInSessions")]
    uses: int
    last_used: Annotated[AwareDatetime | None, Field(alias="lastUsed")]
    asked_by: Annotated[str, Field(alias="askedBy")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    finished_at: Annotated[AwareDatetime | None, Field(alias="finishedAt")]
    request: dict[str, Any]
    """
    As it was asked for.
    """


class CompositionList(Model):
    """
    A project's compositions, newest first.
    """

    compositions: list[CompositionAnswer]
    cursor: str | None


class CompositionRemoved(Model):
    """
    A composition was removed.
    """

    success: bool = True
    composition_id: Annotated[str, Field(alias="compositionId")]


class CompressionBase(Model):
    """
    The least weight that survives at no distance at all, by aggressiveness.
    """

    light: float = 0.1
    moderate: float = 0.3
    aggressive: float = 0.5


class Context(Model):
    """
    What a user works on.
    """

    project_goals: Annotated[str | None, Field(alias="projectGoals")] = None
    domain: str | None = None
    constraints: str | None = None


class ContextMessage(Model):
    """
    A message of the conversation so far, as OpenAI's or Anthropic's chat programs have it.
    """

    role: Literal["user", "assistant", "system", "developer", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    """
    Text, parts (text, image_url, tool_use, tool_result and others), or null beside tool_calls.
    """
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    """
    The calls an assistant makes.
    """
    tool_call_id: str | None = None
    """
    Of the call this is the result of.
    """
    function_call: dict[str, Any] | None = None
    """
    What tool_calls replaced.
    """
    refusal: str | None = None
    audio: dict[str, Any] | None = None
    annotations: list[dict[str, Any]] | None = None
    reasoning: Any | None = None
    reasoning_content: Any | None = None
    reasoning_details: Any | None = None
    thinking: Any | None = None
    thinking_blocks: Any | None = None
    images: list[Any] | None = None
    parsed: Any | None = None
    tool_name: str | None = None
    cache_control: Any | None = None
    provider_specific_fields: Any | None = None
    tokens: int | None = None
    """
    Its length as your model's provider counted it.
    """


class ConversationAnswer(Model):
    """
    A conversation.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    app_id: Annotated[str, Field(alias="appId")]
    user_id: Annotated[str | None, Field(alias="userId")]
    state: Literal["open", "snoozed", "ended"]
    message_count: Annotated[int, Field(alias="messageCount")]
    metadata: dict[str, Any]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    snoozed_until: Annotated[AwareDatetime | None, Field(alias="snoozedUntil")]
    woken_at: Annotated[AwareDatetime | None, Field(alias="wokenAt")]
    """
    When its last snooze ended, until something new is said.
    """
    unanswered_since: Annotated[AwareDatetime | None, Field(alias="unansweredSince")]
    """
    When the oldest user message came that no answer follows.
    """
    end_after_minutes: Annotated[int | None, Field(alias="endAfterMinutes")]
    """
    Of silence, after which it ends by itself.
    """
    ended_at: Annotated[AwareDatetime | None, Field(alias="endedAt")]
    end_reason: Annotated[str | None, Field(alias="endReason")]
    time_zone: Annotated[str | None, Field(alias="timeZone")]
    """
    Whose days are meant in it, an IANA name; without it the user's, or what its messages came with.
    """
    memory: Literal["on", "read", "off"]
    """
    on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither.
    """


class ConversationList(Model):
    """
    Conversations, newest first.
    """

    conversations: list[ConversationAnswer]
    cursor: str | None


class DateRange(Model):
    """
    When sessions took place, in part at least.
    """

    start: AwareDatetime | None = None
    end: AwareDatetime | None = None


class DebugResult(Model):
    """
    One result with where it came from.
    """

    content: str
    score: float
    source: str
    """
    dense, fts or both; neighbour: found by what stands next to it. Of a summary dense or recency, of a profile consent.
    """
    type: str
    """
    message, chunk, summary or profile.
    """
    message_id: Annotated[str | None, Field(alias="messageId")]
    conversation_id: Annotated[str | None, Field(alias="conversationId")]
    explanation: dict[str, float]


class DecayRules(Model):
    """
    What becomes of a session with age; days since something was last said in it, or it was last used.
    """

    create_after_days: Annotated[int, Field(alias="createAfterDays")] = 7
    create_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"],
        Field(alias="createPreset"),
    ] = "standard"
    """
    Of the version made then, if it has none; the project's unless said.
    """
    aggressive_after_days: Annotated[int, Field(alias="aggressiveAfterDays")] = 30
    aggressive_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"],
        Field(alias="aggressivePreset"),
    ] = "aggressive"
    prune_intermediate_after_days: Annotated[int, Field(alias="pruneIntermediateAfterDays")] = 60
    """
    Then versions other than the aggressive one go.
    """


class DefaultsConfiguration(Model):
    """
    What holds where a request or a project does not say.
    """

    compression_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"],
        Field(alias="compressionPreset"),
    ] = "standard"
    keepit_decay_enabled: Annotated[bool, Field(alias="keepitDecayEnabled")] = True
    """
    False: marked parts all survive.
    """
    auto_register_sessions: Annotated[bool, Field(alias="autoRegisterSessions")] = False
    """
    Whether projects' folders are looked through.
    """
    model: str = "extractive"
    """
    Who compresses.
    """


class DeleteSessions(Model):
    """
    Sessions to take out of the registry.
    """

    session_ids: Annotated[list[str], Field(alias="sessionIds")]


class DeletedFact(Model):
    """
    A fact is deleted.
    """

    success: bool = True
    id: int
    undo_until: Annotated[AwareDatetime, Field(alias="undoUntil")]


class DeletedMemory(Model):
    """
    A memory is gone.
    """

    success: bool = True
    note: str | None = None
    """
    What is left to do after an erasure, where something is.
    """


class DeletedSession(Model):
    """
    What became of one session.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    deleted: bool
    code: str | None = None
    """
    Why not, as the error of a single request would say it.
    """
    message: str | None = None
    details: dict[str, Any] | None = None
    """
    As those of an error.
    """


class DeletedSessions(Model):
    """
    What became of each session.
    """

    sessions: list[DeletedSession]


class Dependency(Model):
    """
    Whether one thing the loop needs is there.
    """

    ok: bool
    needed: bool
    """
    Whether readiness depends on it.
    """
    detail: str
    """
    What was found, and what to do where it is not well.
    """


class DifferingSetting(Model):
    """
    A setting that is not the same; null where a version has it not.
    """

    version: Any
    other: Any


class DoctorFinding(Model):
    """
    What the doctor found about one thing.
    """

    what: str
    health: Literal["ok", "warn", "fail"]
    found: str
    mend: str | None
    """
    What to do about it; null where it is well.
    """


class DoctorFindings(Model):
    """
    What `afterthought doctor` finds where the service runs.
    """

    findings: list[DoctorFinding]
    settings: dict[str, str]
    """
    What the service runs with that is not at its default, by environment variable: no secret, and not where it lives.
    """


class Durations(Model):
    """
    Durations, milliseconds.
    """

    count: int
    mean: float
    p50: float
    p95: float
    p99: float


class EditFact(Model):
    """
    Changes a fact; what is left out, or null, stays.
    """

    fact: str | None = None
    category: Literal["project", "preference", "identity"] | None = None
    pinned: bool | None = None


class EditMemory(Model):
    """
    Changes a memory; what is left out, or null, stays.
    """

    content: str | None = None
    importance: int | None = None
    tags: list[str] | None = None
    pinned: bool | None = None


class EndConversation(Model):
    """
    Ends a conversation.
    """

    reason: str | None = None


class EnergyAnswer(Model):
    """
    The energy of the installation.
    """

    level: float
    """
    0..100, with a floor of -50.
    """
    percentage: float
    status: Literal["high", "medium", "low", "urgent"]
    replenish_per_second: Annotated[float, Field(alias="replenishPerSecond")]
    gate_percent: Annotated[float, Field(alias="gatePercent")]
    """
    Memory work starts only above this.
    """
    reserved: float
    """
    Set aside for model calls under way.
    """
    deferred_jobs: Annotated[int, Field(alias="deferredJobs")]
    memory_share: Annotated[float | None, Field(alias="memoryShare")]
    """
    Share of memory work in 24 hours, 0..1; null when nothing was.
    """
    seconds_until_open: Annotated[float | None, Field(alias="secondsUntilOpen")]
    """
    Until memory work may start; null: never.
    """


class ErrorBody(Model):
    """
    What went wrong and what to do about it.
    """

    code: str
    """
    Never changes once published.
    """
    message: str
    """
    What happened and what to do.
    """
    details: dict[str, Any] | None = None
    """
    Machine-readable particulars. Where an operation would help, `operation` has its `id` as in this document, what is known of its `arguments`, and its `route` as the message names it.
    """


class EventPayload(Model):
    """
    An event as it goes to listeners.
    """

    position: int | None
    """
    What a listener resumes after; null for a test.
    """
    kind: str
    """
    What happened.
    """
    app_id: Annotated[str, Field(alias="appId")]
    conversation_id: Annotated[str | None, Field(alias="conversationId")]
    subject: str | None
    """
    Id of the message, memory, fact, answer or job it is about.
    """
    details: dict[str, Any]
    """
    Numbers and words of closed sets.
    """
    at: AwareDatetime
    content: str | None = None
    """
    The text it is about, as it stands when it is told; null when it stands no more.
    """


class FactChangeAnswer(Model):
    """
    One thing that happened to a fact.
    """

    change_id: Annotated[int, Field(alias="changeId")]
    fact_id: Annotated[int, Field(alias="factId")]
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose fact it is, or was.
    """
    kind: Literal[
        "learned",
        "written",
        "repeated",
        "edited",
        "replaced",
        "pinned",
        "unpinned",
        "moved",
        "deleted",
        "undone",
        "evicted",
        "expired",
        "restored",
        "erased",
    ]
    actor: str
    reason: str
    before: str | None
    after: str | None
    related_fact_id: Annotated[int | None, Field(alias="relatedFactId")]
    job_id: Annotated[str | None, Field(alias="jobId")]
    at: AwareDatetime


class FactChangeList(Model):
    """
    Changes: of one fact oldest first, of an app newest first.
    """

    changes: list[FactChangeAnswer]
    cursor: str | None


class FactSourceAnswer(Model):
    """
    One place where a fact was said.
    """

    conversation_id: Annotated[str | None, Field(alias="conversationId")]
    """
    Null: by a person's hand.
    """
    message_ids: Annotated[list[str], Field(alias="messageIds")]
    fact: str
    """
    As it was understood there.
    """
    agent: str
    mentions: int
    said_at: Annotated[AwareDatetime, Field(alias="saidAt")]
    """
    When it was last said there.
    """
    first_seen: Annotated[AwareDatetime, Field(alias="firstSeen")]
    last_seen: Annotated[AwareDatetime, Field(alias="lastSeen")]


class ForeseenItem(Model):
    """
    What a session would get.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    way: Literal["original", "version", "join", "compress"]
    """
    As its original, a version there is, one being made, or one to be made.
    """
    version_id: Annotated[str | None, Field(alias="versionId")]
    """
    The version that is there or being made.
    """
    allocation: int
    original_tokens: Annotated[int, Field(alias="originalTokens")]
    stale: bool
    settings: dict[str, Any] | None
    """
    Of the version that would be made.
    """
    reason: str


class Formula(Model):
    """
    A formula in force, by which results are ranked.
    """

    value: Literal["signals", "weighted"]
    source: Literal["setting", "everywhere", "app"]
    """
    What it comes from: the settings, a change for all apps, or one for this app.
    """


class GapAnswer(Model):
    """
    Events that were asked for and are not kept any more.
    """

    after: int
    kept_after: Annotated[int, Field(alias="keptAfter")]
    """
    Only events after this position are kept; the listener goes on here.
    """


class HourAnswer(Model):
    """
    What an hour cost. Amounts in units.
    """

    hour: AwareDatetime
    """
    When it began, UTC.
    """
    lowest_level: Annotated[float, Field(alias="lowestLevel")]
    """
    Reckoned from the calls of each minute; never higher than it was.
    """
    calls: int
    model_calls: Annotated[int, Field(alias="modelCalls")]
    """
    Of them those of models; the others were made by the built-in agent.
    """
    spent: float
    by_kind: Annotated[dict[str, float], Field(alias="byKind")]
    by_app: Annotated[dict[str, float], Field(alias="byApp")]
    """
    Of the ten apps that spent most in all these hours.
    """


class ImportedAnswer(Model):
    """
    What an import added.
    """

    success: bool = True
    conversations: Arrived
    messages: int
    memories: Arrived
    history: Arrived
    facts: Arrived
    fact_history: Annotated[Arrived, Field(alias="factHistory")]
    summaries: int
    profiles: Arrived


class ImportedProject(Model):
    """
    A project that was imported, and how much of each it held.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    display_name: Annotated[str, Field(alias="displayName")]
    sessions: int
    versions: int
    compositions: int
    semantic_memories: Annotated[int, Field(alias="semanticMemories")]


class Included(Model):
    """
    What was recalled, by id.
    """

    memories: list[int]
    facts: list[int]
    summary: str | None
    """
    The newest summary that is in it; null where all it covers is shown.
    """
    profile: bool
    """
    Whether the user's profile is in it; never without their consent.
    """
    retrieved: list[str]
    """
    Ids of earlier messages, the most to the point first.
    """


class IndexSizes(Model):
    """
    Sizes in bytes.
    """

    messages: int
    embeddings: int
    words: int | None
    """
    Of the whole installation; null where one app was asked about.
    """


class InstallApp(Model):
    """
    Installs an app.
    """

    app_id: Annotated[str, Field(alias="appId")]
    name: str
    config: dict[str, Any] | None = None
    """
    The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does.
    """
    answered_by: Annotated[Literal["loop", "app"] | None, Field(alias="answeredBy")] = None
    """
    Who answers its conversations: the loop, when a model is set, or the app itself.
    """
    approve_answers: Annotated[bool | None, Field(alias="approveAnswers")] = None
    """
    Whether a person approves each answer of the loop's before it is sent.
    """
    weight: int | None = None
    shared_memory: Annotated[bool | None, Field(alias="sharedMemory")] = None
    """
    Whether what names no user (memories, facts, old messages) is recalled for every user of the app.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")] = None
    """
    Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's.
    """


class IssueToken(Model):
    """
    Asks for a token.
    """

    label: str = ""
    grants: list[Literal["tokens", "uninstall", "answers"]] | None = None
    """
    What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who).
    """
    user_id: Annotated[str | None, Field(alias="userId")] = None
    """
    Whose own it is to be: it opens what is this user's in the app and nothing else, and has no grants. It goes when everything of theirs is erased.
    """


class IssuedToken(Model):
    """
    A new token; its text is shown this once and kept nowhere.
    """

    token_id: Annotated[str, Field(alias="tokenId")]
    app_id: Annotated[str, Field(alias="appId")]
    label: str
    grants: list[Literal["tokens", "uninstall", "answers"]]
    """
    What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who).
    """
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose own it is; null: the app's.
    """
    parent_id: Annotated[str | None, Field(alias="parentId")]
    """
    The token that issued it, with which it is revoked; null: an admin did.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    revoked_at: Annotated[AwareDatetime | None, Field(alias="revokedAt")]
    token: str | None
    """
    The token; null when this answer is a repetition under an Idempotency-Key.
    """


class JobAnswer(Model):
    """
    A job.
    """

    job_id: Annotated[str, Field(alias="jobId")]
    kind: (
        Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | str
    )
    """
    One that is none of these is of another release.
    """
    app_id: Annotated[str | None, Field(alias="appId")]
    conversation_id: Annotated[str | None, Field(alias="conversationId")]
    state: Literal["pending", "deferred", "queued", "running", "retrying", "done", "nothing", "dead", "cancelled"]
    attempts: int
    max_attempts: Annotated[int, Field(alias="maxAttempts")]
    reason: str | None
    """
    Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    due_at: Annotated[AwareDatetime, Field(alias="dueAt")]
    deferral: Literal["energy", "budget", "provider_away"] | None
    """
    What a deferred job waits for.
    """
    deferred_since: Annotated[AwareDatetime | None, Field(alias="deferredSince")]
    expected_at: Annotated[AwareDatetime | None, Field(alias="expectedAt")]
    """
    When a deferred job may start, as far as can be told; else null.
    """
    started_at: Annotated[AwareDatetime | None, Field(alias="startedAt")]
    finished_at: Annotated[AwareDatetime | None, Field(alias="finishedAt")]
    trace_id: Annotated[str | None, Field(alias="traceId")]
    """
    The trace of whatever asked for it; null where none was made.
    """


class JobCall(Model):
    """
    A call of a model, or of the built-in agent, that a job made.
    """

    at: AwareDatetime
    """
    When it ended.
    """
    kind: Literal[
        "create_memory",
        "compact_memories",
        "extract_facts",
        "embed",
        "summarise",
        "compress_session",
        "learn_from_sessions",
        "think",
        "chat",
    ]
    model: str
    outcome: Literal["answered", "malformed", "truncated", "prompt_cut", "timeout", "unavailable", "refused"]
    prompt_tokens: Annotated[int, Field(alias="promptTokens")]
    completion_tokens: Annotated[int, Field(alias="completionTokens")]
    estimated: bool
    """
    Whether the tokens are reckoned here, as the provider did not say.
    """
    units: float


class JobDetails(Model):
    """
    A job and what it cost.
    """

    job_id: Annotated[str, Field(alias="jobId")]
    kind: (
        Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | str
    )
    """
    One that is none of these is of another release.
    """
    app_id: Annotated[str | None, Field(alias="appId")]
    conversation_id: Annotated[str | None, Field(alias="conversationId")]
    state: Literal["pending", "deferred", "queued", "running", "retrying", "done", "nothing", "dead", "cancelled"]
    attempts: int
    max_attempts: Annotated[int, Field(alias="maxAttempts")]
    reason: str | None
    """
    Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    due_at: Annotated[AwareDatetime, Field(alias="dueAt")]
    deferral: Literal["energy", "budget", "provider_away"] | None
    """
    What a deferred job waits for.
    """
    deferred_since: Annotated[AwareDatetime | None, Field(alias="deferredSince")]
    expected_at: Annotated[AwareDatetime | None, Field(alias="expectedAt")]
    """
    When a deferred job may start, as far as can be told; else null.
    """
    started_at: Annotated[AwareDatetime | None, Field(alias="startedAt")]
    finished_at: Annotated[AwareDatetime | None, Field(alias="finishedAt")]
    trace_id: Annotated[str | None, Field(alias="traceId")]
    """
    The trace of whatever asked for it; null where none was made.
    """
    calls: list[JobCall]
    """
    Of all its attempts, the oldest first; those that were folded into sums are not among them.
    """


class JobList(Model):
    """
    Jobs, newest first.
    """

    jobs: list[JobAnswer]
    cursor: str | None


class JudgeMemory(Model):
    """
    What a person says of it.
    """

    verdict: Literal["proposed", "confirmed", "rejected"] | None = None
    content: str | None = None


class KeepitDecay(Model):
    """
    What decides whether marked parts survive, beside their weight, the ratio and the distance.
    """

    compression_base: Annotated[CompressionBase, Field(alias="compressionBase")]
    max_session_distance: Annotated[int, Field(alias="maxSessionDistance")] = 10
    """
    From here on distance makes no more difference.
    """
    pinned_weight: Annotated[float, Field(alias="pinnedWeight")] = 1.0
    """
    What weighs this much always survives.
    """


class KeepitStats(Model):
    """
    What became of marked parts.
    """

    preserved: int
    summarized: int
    weights: dict[str, int]
    """
    How many there were of each weight.
    """


class LinkItem(Model):
    """
    A session that another project may find, be suggested and compose.
    """

    link_id: Annotated[str, Field(alias="linkId")]
    source_project: Annotated[str, Field(alias="sourceProject")]
    source_session: Annotated[str, Field(alias="sourceSession")]
    target_project: Annotated[str, Field(alias="targetProject")]
    reason: str
    linked_by: Annotated[str, Field(alias="linkedBy")]
    linked_at: Annotated[AwareDatetime, Field(alias="linkedAt")]


class LinkList(Model):
    """
    A project's links, the oldest first.
    """

    links: list[LinkItem]
    cursor: str | None


class ListedApp(Model):
    """
    An app of a list.
    """

    app_id: Annotated[str, Field(alias="appId")]
    name: str
    config: dict[str, Any]
    """
    The app's own notes: kept and returned, and read by nothing here. No key in it changes what the service does.
    """
    installed: bool
    answered_by: Annotated[Literal["loop", "app"], Field(alias="answeredBy")]
    """
    Who answers its conversations: the loop, when a model is set, or the app itself.
    """
    approve_answers: Annotated[bool, Field(alias="approveAnswers")]
    """
    Whether a person approves each answer of the loop's before it is sent.
    """
    weight: int
    """
    The app's share of the work beside other apps'.
    """
    shared_memory: Annotated[bool, Field(alias="sharedMemory")]
    """
    Whether what names no user (memories, facts, old messages) is recalled for every user of the app.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")]
    """
    Whose days are meant where neither conversation, user nor message says, an IANA name; null: UTC's.
    """
    hourly_budget: Annotated[float | None, Field(alias="hourlyBudget")]
    """
    Units an app may spend in any 60 minutes.
    """
    daily_budget: Annotated[float | None, Field(alias="dailyBudget")]
    """
    Units an app may spend in any 24 hours.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    uninstalled_at: Annotated[AwareDatetime | None, Field(alias="uninstalledAt")]
    holds: AppHoldings | None
    """
    How much it holds; null where that was not asked for.
    """


class Live(Model):
    """
    The process answers.
    """

    status: str = "live"


class LoginMade(Model):
    """
    A login that was made; its secret is shown this once and kept nowhere.
    """

    login: str | None
    """
    The secret; null when this answer repeats one under an Idempotency-Key.
    """
    ends_at: Annotated[AwareDatetime, Field(alias="endsAt")]


class MakeLink(Model):
    """
    Links a session of another project of the same app.
    """

    source_project: Annotated[str, Field(alias="sourceProject")]
    source_session: Annotated[str, Field(alias="sourceSession")]
    reason: str


class MarkerForeseen(Model):
    """
    What would become of a marked part.
    """

    marker_id: Annotated[str, Field(alias="markerId")]
    weight: float
    survives: bool


class MarkerInMessage(Model):
    """
    A marked part, where it stands in its message.
    """

    marker_id: Annotated[str, Field(alias="markerId")]
    weight: float
    """
    The weight in force.
    """
    written_weight: Annotated[float, Field(alias="writtenWeight")]
    start: int
    """
    Where the marker begins in the whole message, characters.
    """
    content_start: Annotated[int, Field(alias="contentStart")]
    """
    Where what it marks begins.
    """
    end: int
    """
    Where what it marks ends.
    """


class MarkerProblemItem(Model):
    """
    Something written like a marker that is none, or not as it is written.
    """

    message_uuid: Annotated[str, Field(alias="messageUuid")]
    written: str
    reason: str


class MarkerSurvival(Model):
    """
    A marked part that one version holds word for word.
    """

    marker_id: Annotated[str, Field(alias="markerId")]
    weight: float
    content: str


class MemoryEviction(Model):
    """
    How room was made at the cap.
    """

    memory_id: Annotated[int, Field(alias="memoryId")]
    outcome: Literal["deleted", "merged", "oldest_went", "least_went", "new_gave_way"]
    reason: str


class MessageList(Model):
    """
    Messages by position: as they were sent, with messageId, position, createdAt and, where known, tokens, offset.
    """

    messages: list[dict[str, Any]]
    cursor: str | None


class NamedVersion(Model):
    """
    A version.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    version_id: Annotated[str, Field(alias="versionId")]


class OnlyIn(Model):
    """
    What one of two versions has and the other lacks.
    """

    blocks: dict[str, int]
    """
    How many pieces of each kind stand nowhere in the other.
    """
    markers: list[MarkerSurvival]
    """
    Marked parts that survived here and not in the other.
    """


class OpenProject(Model):
    """
    A working folder whose sessions are to be registered.
    """

    original_path: Annotated[str, Field(alias="originalPath")]
    """
    The folder that was worked in; it need not be on this machine.
    """
    display_name: Annotated[str | None, Field(alias="displayName")] = None
    source_folder: Annotated[str | None, Field(alias="sourceFolder")] = None
    """
    A folder of transcripts; only an admin may name one.
    """
    settings: ChangeProjectSettings | None = None


class OriginalMessage(Model):
    """
    What was said or done at one point of a session; a long one comes in pieces, on several pages.
    """

    position: int
    """
    Its place in the session, from 0; the same for all pieces of one message.
    """
    uuid: str
    """
    Of its record; several messages may be of one record.
    """
    speaker: str
    kind: str
    """
    human, assistant, question, thinking, tool_use, tool_result, meta, left, system, summary.
    """
    at: AwareDatetime | None
    text: str
    """
    Of a tool's use what it was given, as JSON; of its result what came back.
    """
    start: int
    """
    Where this text begins in the whole message, characters; 0 but for later pieces.
    """
    characters: int
    """
    Of the whole message.
    """
    tool: str | None
    """
    Of a call and of its result.
    """
    tool_use_id: Annotated[str | None, Field(alias="toolUseId")]
    """
    What a use of a tool and its result share.
    """
    is_error: Annotated[bool, Field(alias="isError")]
    markers: list[MarkerInMessage]
    held: Literal["whole", "part", "none"] | None
    """
    How much of it the version holds that was asked about: whole, part, none.
    """


class OriginalPage(Model):
    """
    Messages of an original, in their order.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    messages: list[OriginalMessage]
    cursor: str | None


class PlanAnswer(Model):
    """
    What a run did, or would do.
    """

    at: AwareDatetime
    dry_run: Annotated[bool, Field(alias="dryRun")]
    by: str
    plan: dict[str, Any]
    """
    compress, remove, keep; each entry with its reason, and counts of all.
    """


class Position(Model):
    """
    Where a marked part stands in its message, in characters.
    """

    start: int
    """
    Where the marker itself begins.
    """
    end: int
    """
    Where what it marks ends.
    """


class Preferences(Model):
    """
    How a user wants things done.
    """

    coding_style: Annotated[str | None, Field(alias="codingStyle")] = None
    preferred_languages: Annotated[list[str], Field(alias="preferredLanguages")] = []
    framework_experience: Annotated[list[str], Field(alias="frameworkExperience")] = []


class PreviewDecay(Model):
    """
    A compression to look ahead to.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    compression_ratio: Annotated[int, Field(alias="compressionRatio")]
    aggressiveness: Literal["light", "minimal", "moderate", "aggressive"]
    session_distance: Annotated[int, Field(alias="sessionDistance")]


class ProfileItem(Model):
    """
    What a user agreed to have kept.
    """

    preferences: Preferences
    context: Context | None = None
    freeform_notes: Annotated[str, Field(alias="freeformNotes")] = ""
    version: int
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]


class Progress(Model):
    """
    How far a job has come, in parts; both are 0 while it is not known how many there are.
    """

    done: int
    total: int


class ProgressAnswer(Model):
    """
    How far something has come, in messages.
    """

    done: int
    total: int


class ProjectSettings(Model):
    """
    What holds for all sessions of a project.
    """

    default_compression_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"],
        Field(alias="defaultCompressionPreset"),
    ] = "standard"
    auto_register_new_sessions: Annotated[bool, Field(alias="autoRegisterNewSessions")] = False
    """
    Whether its folder is looked through for sessions.
    """
    keepit_decay_enabled: Annotated[bool, Field(alias="keepitDecayEnabled")] = True
    model: str | None = None
    """
    Who compresses; null: what is set up.
    """
    compression_retention: Annotated[str | int, Field(alias="compressionRetention")] = "all"
    keepit_decay: Annotated[KeepitDecay, Field(alias="keepitDecay")]


class PruneVersions(Model):
    """
    Removes versions: those named, or those that meet all the rules given.
    """

    unused: bool = False
    """
    Never used, in any composition or otherwise.
    """
    superseded: bool = False
    """
    A newer one was made with the same settings of the same, and of no less.
    """
    older_than_days: Annotated[int | None, Field(alias="olderThanDays")] = None
    """
    Neither made nor used since.
    """
    session_ids: Annotated[list[str] | None, Field(alias="sessionIds")] = None
    """
    Only versions of these; of all where none is named.
    """
    dry_run: Annotated[bool, Field(alias="dryRun")] = True
    """
    Only says what would go.
    """
    versions: list[NamedVersion] | None = None
    """
    These, instead of rules; one that is in use is refused.
    """


class Ready(Model):
    """
    Whether the loop can serve, and why not.
    """

    ready: bool
    version: str
    agent: str
    """
    Who writes memories: extractive, or the model.
    """
    dependencies: dict[str, Dependency]


class Rebuilt(Model):
    """
    The word index was made anew, empty; its apps are being filled in.
    """

    apps: int


class Receipt(Model):
    """
    What was erased, and for each store that was checked, what is left there.
    """

    receipt_id: Annotated[str, Field(alias="receiptId")]
    app_id: Annotated[str, Field(alias="appId")]
    scope: str
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose; null where it was about the whole app, or about nobody.
    """
    actor: str
    at: AwareDatetime
    erased: dict[str, int]
    """
    Store by store what was erased. idempotencyKeys are remembered answers of the whole app, as nobody can tell whose words one holds.
    """
    left: dict[str, int | None]
    """
    Store by store what is left; null: it could not be looked at. databaseLog is 1 while deleted text may still stand in the database's own log.
    """


class ReceiptList(Model):
    """
    An app's receipts, newest first.
    """

    erasures: list[Receipt]
    cursor: str | None


class RefusedFile(Model):
    """
    A file that was not taken in.
    """

    file: str
    reason: str


class RejectAnswer(Model):
    """
    Refuses an answer; the loop is told the reason when it thinks again.
    """

    reason: str | None = None


class ReplayAnswer(Model):
    """
    What one round came to; ask again with the cursor until it is null.
    """

    matching: dict[str, int]
    """
    By kind, the dead letters that this round and later ones are for.
    """
    replayed: int
    refused: int
    """
    Stay dead: what they were about was purged or erased, or they never became jobs.
    """
    left: int
    """
    For later rounds.
    """
    cursor: str | None


class ReplayJobs(Model):
    """
    Which dead letters to run again; without any field, all there are.
    """

    app_id: Annotated[str | None, Field(alias="appId")] = None
    kind: (
        Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | None
    ) = None
    reason: str | None = None
    """
    Part of their reason, in any case of letters.
    """
    dry_run: Annotated[bool, Field(alias="dryRun")] = False
    """
    Only count them.
    """
    cursor: str | None = None
    """
    Goes on where a former round ended.
    """


class RequestedJob(Model):
    """
    The job of a conversation that was asked for.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    job: JobAnswer


class RequestedLearning(Model):
    """
    The job that learns.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    job: JobAnswer


class RestoreMemory(Model):
    """
    Takes back a change, the latest unless one is named.
    """

    change_id: Annotated[int | None, Field(alias="changeId")] = None


class RestoredFacts(Model):
    """
    Clearing was taken back.
    """

    success: bool = True
    restored_count: Annotated[int, Field(alias="restoredCount")]


class Retention(Model):
    """
    How many versions of a session are kept, or for how long; never applied to what is in use or the only one.
    """

    keep: Literal["all", "newest", "days"] = "all"
    count: int | None = None
    """
    With `newest`: how many.
    """
    days: int | None = None
    """
    With `days`: since they were made or last used.
    """


class RetrievalStats(Model):
    """
    How much there is to retrieve.
    """

    app_id: Annotated[str | None, Field(alias="appId")]
    total_messages: Annotated[int, Field(alias="totalMessages")]
    total_conversations: Annotated[int, Field(alias="totalConversations")]
    total_chunks: Annotated[int, Field(alias="totalChunks")]
    total_summaries: Annotated[int, Field(alias="totalSummaries")]
    total_vectors: Annotated[int, Field(alias="totalVectors")]
    profile_consent: Annotated[bool | None, Field(alias="profileConsent")]
    """
    Of the user asked about; null where no app was named.
    """
    index_sizes: Annotated[IndexSizes, Field(alias="indexSizes")]


class RunAgeing(Model):
    """
    Ages a project now.
    """

    dry_run: Annotated[bool, Field(alias="dryRun")] = True
    """
    Only writes the plan down; rules that changed must be run so first.
    """


class ScoredFactItem(Model):
    """
    A fact with its score; of each user the highest goes first.
    """

    id: int
    user_id: Annotated[str | None, Field(alias="userId")]
    fact: str
    category: Literal["project", "preference", "identity"]
    confidence: float
    last_seen: Annotated[AwareDatetime, Field(alias="lastSeen")]
    score: float
    goes: bool
    expires_at: Annotated[AwareDatetime, Field(alias="expiresAt")]


class SearchFilters(Model):
    """
    Narrows a search; what is left out narrows nothing, and a list that is given must name something.
    """

    roles: list[Literal["user", "assistant", "system", "tool"]] | None = None
    """
    Of user and assistant: what systems and tools said is never a result.
    """
    names: list[str] | None = None
    """
    Speakers, as your app named them.
    """
    since: AwareDatetime | None = None
    """
    Results were said at this time or later.
    """
    until: AwareDatetime | None = None
    """
    Results were said before this time.
    """
    conversation_ids: Annotated[list[str] | None, Field(alias="conversationIds")] = None
    """
    Only these conversations; an id that is not known finds nothing.
    """
    kinds: list[Literal["message", "prose", "code"]] | None = None
    """
    Whole messages, or passages of long ones: prose, code.
    """
    tags: list[str] | None = None
    """
    Tags under metadata.tags of the conversation; it must have all of them.
    """


class SearchResult(Model):
    """
    A message, or a passage of one.
    """

    message_id: Annotated[str, Field(alias="messageId")]
    conversation_id: Annotated[str, Field(alias="conversationId")]
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose conversation it is; null where it names nobody.
    """
    role: Literal["user", "assistant", "system", "tool"]
    name: str | None
    content: str
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    score: float
    kind: Literal["message", "prose", "code"]
    part: int
    """
    Which passage of the message; 0 is the whole.
    """
    language: str | None
    """
    Of code, where its fence names it.
    """
    times: int
    """
    How often the same was said by the same speaker; this is the one that fits best.
    """
    last_at: Annotated[AwareDatetime, Field(alias="lastAt")]
    """
    When it was said last.
    """
    explanation: dict[str, float] | None = None
    """
    What each signal added to the score.
    """


class SemanticSourceItem(Model):
    """
    Where it was found.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    message_uuid: Annotated[str, Field(alias="messageUuid")]
    excerpt: str


class SessionChangeList(Model):
    """
    What was done to a project, newest first.
    """

    changes: list[ChangeLine]
    cursor: str | None


class SessionForeseen(Model):
    """
    What a transcript would be registered as; nothing was written.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    original_file: Annotated[str | None, Field(alias="originalFile")]
    """
    Where it is from; null for an upload.
    """
    size_bytes: Annotated[int, Field(alias="sizeBytes")]
    """
    Without a last line that is still being written.
    """
    sha256: str
    """
    Of those bytes of the original.
    """
    original_tokens: Annotated[int, Field(alias="originalTokens")]
    original_messages: Annotated[int, Field(alias="originalMessages")]
    first_timestamp: Annotated[AwareDatetime | None, Field(alias="firstTimestamp")]
    last_timestamp: Annotated[AwareDatetime | None, Field(alias="lastTimestamp")]
    metadata: dict[str, Any]
    """
    Title, how the first prompt begins, branch, version, folder, models, topics.
    """
    counts: dict[str, int]
    """
    Lines, prompts, messages, tool uses, tokens by usage, oddities.
    """
    markers: int
    marker_problems: Annotated[list[MarkerProblemItem], Field(alias="markerProblems")]
    marker_weights: Annotated[dict[str, int], Field(alias="markerWeights")]
    """
    How many markers there are of each weight, the heaviest first.
    """


class SessionItem(Model):
    """
    A registered session.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    original_file: Annotated[str | None, Field(alias="originalFile")]
    """
    Where it is from; null for an upload.
    """
    size_bytes: Annotated[int, Field(alias="sizeBytes")]
    """
    Without a last line that is still being written.
    """
    sha256: str
    """
    Of those bytes of the original.
    """
    original_tokens: Annotated[int, Field(alias="originalTokens")]
    original_messages: Annotated[int, Field(alias="originalMessages")]
    first_timestamp: Annotated[AwareDatetime | None, Field(alias="firstTimestamp")]
    last_timestamp: Annotated[AwareDatetime | None, Field(alias="lastTimestamp")]
    metadata: dict[str, Any]
    """
    Title, how the first prompt begins, branch, version, folder, models, topics.
    """
    counts: dict[str, int]
    """
    Lines, prompts, messages, tool uses, tokens by usage, oddities.
    """
    markers: int
    marker_problems: Annotated[list[MarkerProblemItem], Field(alias="markerProblems")]
    registered_at: Annotated[AwareDatetime, Field(alias="registeredAt")]
    synced_at: Annotated[AwareDatetime, Field(alias="syncedAt")]
    last_accessed: Annotated[AwareDatetime, Field(alias="lastAccessed")]
    used_at: Annotated[AwareDatetime | None, Field(alias="usedAt")]
    """
    When it was last used: composed, handed out as a version, read; null before.
    """
    versions: int


class SessionJobAnswer(Model):
    """
    A job about recorded sessions.
    """

    job_id: Annotated[str, Field(alias="jobId")]
    kind: (
        Literal[
            "create_memory",
            "extract_facts",
            "summarise",
            "embed_messages",
            "index_messages",
            "compress_session",
            "compose_context",
            "learn_from_sessions",
            "end_conversation",
            "deliver_webhook",
        ]
        | str
    )
    """
    One that is none of these is of another release.
    """
    app_id: Annotated[str | None, Field(alias="appId")]
    conversation_id: Annotated[str | None, Field(alias="conversationId")]
    state: Literal["pending", "deferred", "queued", "running", "retrying", "done", "nothing", "dead", "cancelled"]
    attempts: int
    max_attempts: Annotated[int, Field(alias="maxAttempts")]
    reason: str | None
    """
    Why it waits, was deferred, failed or was cancelled, or who did it in the model's stead.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    due_at: Annotated[AwareDatetime, Field(alias="dueAt")]
    deferral: Literal["energy", "budget", "provider_away"] | None
    """
    What a deferred job waits for.
    """
    deferred_since: Annotated[AwareDatetime | None, Field(alias="deferredSince")]
    expected_at: Annotated[AwareDatetime | None, Field(alias="expectedAt")]
    """
    When a deferred job may start, as far as can be told; else null.
    """
    started_at: Annotated[AwareDatetime | None, Field(alias="startedAt")]
    finished_at: Annotated[AwareDatetime | None, Field(alias="finishedAt")]
    trace_id: Annotated[str | None, Field(alias="traceId")]
    """
    The trace of whatever asked for it; null where none was made.
    """
    session_id: Annotated[str | None, Field(alias="sessionId")] = None
    version_id: Annotated[str | None, Field(alias="versionId")] = None
    composition_id: Annotated[str | None, Field(alias="compositionId")] = None
    progress: Progress


class SessionJobList(Model):
    """
    Jobs about recorded sessions, newest first.
    """

    jobs: list[SessionJobAnswer]
    cursor: str | None


class SessionList(Model):
    """
    Sessions, in the order that was asked for.
    """

    sessions: list[SessionItem]
    cursor: str | None


class SessionSnippet(Model):
    """
    Why it was found.
    """

    text: str
    marks: list[list[int]]
    """
    Where found words begin and end in the text, characters.
    """
    kind: str
    """
    What it is part of: human, assistant, tool_use, keepit, ...
    """
    message_uuid: Annotated[str | None, Field(alias="messageUuid")]
    said_at: Annotated[AwareDatetime | None, Field(alias="saidAt")]


class SizeOfTable(Model):
    """
    What a table takes.
    """

    table: str
    rows: int | None
    """
    An estimate on PostgreSQL; null for the word index.
    """
    size_bytes: Annotated[int | None, Field(alias="sizeBytes")]
    """
    With its indexes; null where SQLite was built without dbstat.
    """
    oldest: AwareDatetime | None
    """
    When its first row was written, where rows have a time.
    """


class SnoozeConversation(Model):
    """
    Hides a conversation for a while.
    """

    minutes: int


class Source(Model):
    """
    A conversation whose words stand in a memory.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    message_ids: Annotated[list[str], Field(alias="messageIds")]


class StartConversation(Model):
    """
    Opens a conversation.
    """

    conversation_id: Annotated[str | None, Field(alias="conversationId")] = None
    user_id: Annotated[str | None, Field(alias="userId")] = None
    energy_budget: Annotated[float | None, Field(alias="energyBudget")] = None
    metadata: dict[str, Any] | None = None
    end_after_minutes: Annotated[int | None, Field(alias="endAfterMinutes")] = None
    """
    It ends by itself once nothing was said for so long; without it, only when it is told to.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")] = None
    """
    Whose days are meant in it, an IANA name; without it the user's, or what its messages came with.
    """
    memory: Literal["on", "read", "off"] = "on"
    """
    on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither.
    """


class StillRemembered(Model):
    """
    What remembers after a purge of memories, and how to erase it.
    """

    facts: int
    messages: int
    summaries: int
    how_to_erase: Annotated[str, Field(alias="howToErase")]


class Storage(Model):
    """
    What the database holds.
    """

    size_bytes: Annotated[int, Field(alias="sizeBytes")]
    tables: list[SizeOfTable]
    """
    The largest first.
    """


class StorageConfiguration(Model):
    """
    What is kept, and how much.
    """

    max_cache_size: Annotated[str | int, Field(alias="maxCacheSize")] = "1GB"
    """
    Of uploads and archives under way.
    """
    compression_retention: Annotated[str | int, Field(alias="compressionRetention")] = "all"
    """
    `all`, so many newest versions of a session, or `30 days`.
    """


class StorageFigures(Model):
    """
    What is in the store, in bytes on its disk.
    """

    original_bytes: Annotated[int, Field(alias="originalBytes")]
    """
    Of the copies of originals.
    """
    versions: int
    version_bytes: Annotated[int, Field(alias="versionBytes")]
    compositions: int
    """
    Of a session: those that use it.
    """
    composition_bytes: Annotated[int | None, Field(alias="compositionBytes")]
    """
    null for a session, since a composition is made of several.
    """


class StoredMessage(Model):
    """
    Where a message stands in its conversation; positions count from 0.
    """

    message_id: Annotated[str, Field(alias="messageId")]
    position: int
    role: str
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]


class StoredMessages(Model):
    """
    One entry for each message that was sent.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    messages: list[StoredMessage]


class Success(Model):
    """
    It was done.
    """

    success: bool = True


class SummaryItem(Model):
    """
    Bullets over a part of a conversation.
    """

    summary_id: Annotated[str, Field(alias="summaryId")]
    content: str
    tokens: int
    agent: str
    """
    Who wrote it: `extractive`, or the model.
    """
    from_position: Annotated[int, Field(alias="fromPosition")]
    """
    The first message it covers, counted from 0.
    """
    to_position: Annotated[int, Field(alias="toPosition")]
    """
    The last message it covers.
    """
    embedded: bool
    """
    Whether it has its vector yet.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]


class SummaryList(Model):
    """
    A conversation's summaries, newest first.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    summaries: list[SummaryItem]
    summarised: int
    """
    How many messages from the beginning they cover.
    """
    turns_since_summary: Annotated[int, Field(alias="turnsSinceSummary")]
    """
    Messages of the assistant since the last one.
    """
    cursor: str | None


class Switch(Model):
    """
    Something on or off, in force.
    """

    value: bool
    source: Literal["setting", "everywhere", "app"]
    """
    What it comes from: the settings, a change for all apps, or one for this app.
    """


class Synced(Model):
    """
    What a sync took in.
    """

    session: SessionItem
    added_bytes: Annotated[int, Field(alias="addedBytes")]


class TextDifference(Model):
    """
    A piece that stands in one of the versions only, or elsewhere in the other.
    """

    is_in: Annotated[str, Field(alias="isIn")]
    """
    The version's id.
    """
    position: int
    """
    Its place among that version's pieces, from 0.
    """
    speaker: str
    kind: str
    at: AwareDatetime | None
    text: str
    """
    Its first 1,000 characters.
    """
    characters: int
    """
    Of all of it.
    """


class Tier(Model):
    """
    A part of a session and how it is compressed.
    """

    end_percent: Annotated[int, Field(alias="endPercent")]
    """
    Where it ends, per cent of the session.
    """
    compaction_ratio: Annotated[int, Field(alias="compactionRatio")]
    aggressiveness: Literal["minimal", "moderate", "aggressive"]


class TokenAnswer(Model):
    """
    A token, without the token itself.
    """

    token_id: Annotated[str, Field(alias="tokenId")]
    app_id: Annotated[str, Field(alias="appId")]
    label: str
    grants: list[Literal["tokens", "uninstall", "answers"]]
    """
    What it may do beside working with the app's data: tokens (issue and revoke them), uninstall, answers (who).
    """
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose own it is; null: the app's.
    """
    parent_id: Annotated[str | None, Field(alias="parentId")]
    """
    The token that issued it, with which it is revoked; null: an admin did.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    revoked_at: Annotated[AwareDatetime | None, Field(alias="revokedAt")]


class TokenList(Model):
    """
    An app's tokens, oldest first.
    """

    tokens: list[TokenAnswer]
    cursor: str | None


class TokenRights(Model):
    """
    What the token of a request opens.
    """

    name: str
    """
    Recorded with every change: admin, reader, or token: and its id.
    """
    app_id: Annotated[str | None, Field(alias="appId")]
    """
    The only app it opens; null: all of them.
    """
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose own it is: it opens what is theirs in the app; null: nobody's.
    """
    rights: Literal["all", "read", "metrics"]
    """
    all, or read.
    """
    grants: list[Literal["tokens", "uninstall", "answers"]]
    """
    What it may do beside working with data: issue and revoke tokens, uninstall the app, change who answers. An admin's that may do all has them all.
    """


class TouchedFileItem(Model):
    """
    A file that a session touched.
    """

    path: str
    touches: int
    changed: bool
    """
    Whether it was written, not only read.
    """


class TuneAll(Model):
    """
    What to change for all apps. What is left out stays as it is; null takes a change back.

    A weight that is given selects the formula weighted, unless a formula is given too.
    """

    hybrid: bool | None = None
    """
    Whether words are searched beside vectors. null takes the change back.
    """
    chunking: bool | None = None
    """
    Whether long messages are searched and handed out in passages. null takes the change back.
    """
    token_budget: Annotated[int | None, Field(alias="tokenBudget")] = None
    """
    Most tokens of retrieved messages in a context (100 to 5000). null takes the change back.
    """
    summary_frequency: Annotated[int | None, Field(alias="summaryFrequency")] = None
    """
    Messages of the assistant after which a conversation is summarised; 0: only on demand (0 to 100). null takes the change back.
    """
    formula: Literal["signals", "weighted"] | None = None
    """
    How results are ranked: by several signals, or by the weighted sum of the next three. null takes the change back.
    """
    alpha: float | None = None
    """
    Weight of the vectors' likeness in the weighted sum; the three weights add up to 1 (0 to 1). null takes the change back.
    """
    beta: float | None = None
    """
    Weight of the words in the weighted sum (0 to 1). null takes the change back.
    """
    gamma: float | None = None
    """
    Weight of code identifiers in the weighted sum (0 to 1). null takes the change back.
    """
    metrics_days: Annotated[int | None, Field(alias="metricsDays")] = None
    """
    How long figures of single retrievals are kept, days (1 to 365). null takes the change back.
    """


class TuneApp(Model):
    """
    What to change for one app. What is left out stays as it is; null takes a change back.

    A weight that is given selects the formula weighted, unless a formula is given too.
    """

    hybrid: bool | None = None
    """
    Whether words are searched beside vectors. null takes the change back.
    """
    chunking: bool | None = None
    """
    Whether long messages are searched and handed out in passages. null takes the change back.
    """
    token_budget: Annotated[int | None, Field(alias="tokenBudget")] = None
    """
    Most tokens of retrieved messages in a context (100 to 5000). null takes the change back.
    """
    summary_frequency: Annotated[int | None, Field(alias="summaryFrequency")] = None
    """
    Messages of the assistant after which a conversation is summarised; 0: only on demand (0 to 100). null takes the change back.
    """
    formula: Literal["signals", "weighted"] | None = None
    """
    How results are ranked: by several signals, or by the weighted sum of the next three. null takes the change back.
    """
    alpha: float | None = None
    """
    Weight of the vectors' likeness in the weighted sum; the three weights add up to 1 (0 to 1). null takes the change back.
    """
    beta: float | None = None
    """
    Weight of the words in the weighted sum (0 to 1). null takes the change back.
    """
    gamma: float | None = None
    """
    Weight of code identifiers in the weighted sum (0 to 1). null takes the change back.
    """


class Uninstalled(Model):
    """
    What became of an app and its memories.
    """

    success: bool = True
    app_id: Annotated[str, Field(alias="appId")]
    memories_kept: Annotated[int, Field(alias="memoriesKept")]
    deleted_count: Annotated[int, Field(alias="deletedCount")] = 0
    receipt: Receipt | None = None
    note: str | None = None


class Unregistered(Model):
    """
    What was taken out of the registry; the originals are where they were.
    """

    success: bool = True
    project_id: Annotated[str, Field(alias="projectId")]
    sessions: list[str]


class UseComposition(Model):
    """
    Says that a session began with a composition.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    """
    It need not be registered.
    """


class UserAnswer(Model):
    """
    A user of an app, and how much there is of them.
    """

    user_id: Annotated[str | None, Field(alias="userId")]
    """
    How the app calls them; null stands for what names nobody.
    """
    conversations: int
    messages: int
    memories: int
    facts: int
    has_profile: Annotated[bool, Field(alias="hasProfile")]
    last_active_at: Annotated[AwareDatetime | None, Field(alias="lastActiveAt")]
    """
    When something happened last in a conversation of theirs.
    """
    time_zone: Annotated[str | None, Field(alias="timeZone")]
    """
    Whose days are meant by what they say, an IANA name; null: the days of what their messages came with.
    """


class UserList(Model):
    """
    Users by id; what names nobody comes first.
    """

    users: list[UserAnswer]
    cursor: str | None


class VectorSetAnswer(Model):
    """
    The vectors of an app by one model.
    """

    model: str
    state: Literal["serving", "filling", "retired"]
    vectors: int
    progress: ProgressAnswer | None
    """
    While it is made beside the one that serves.
    """


class VersionAnswer(Model):
    """
    A version of a session.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    version_id: Annotated[str, Field(alias="versionId")]
    state: Literal["working", "ready", "failed"]
    file: str | None
    """
    Name of its files, without `.md` and `.jsonl`.
    """
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    finished_at: Annotated[AwareDatetime | None, Field(alias="finishedAt")]
    settings: dict[str, Any]
    source_version: Annotated[str | None, Field(alias="sourceVersion")]
    """
    The version it was made from; null for the original.
    """
    source_bytes: Annotated[int, Field(alias="sourceBytes")]
    """
    How much of the original it covers.
    """
    input_tokens: Annotated[int, Field(alias="inputTokens")]
    output_tokens: Annotated[int, Field(alias="outputTokens")]
    output_messages: Annotated[int, Field(alias="outputMessages")]
    compression_ratio: Annotated[float, Field(alias="compressionRatio")]
    keepit_stats: Annotated[KeepitStats | None, Field(alias="keepitStats")]
    statistics: dict[str, Any]
    why: str
    """
    What it leaves out of what it was made from, by kind and count; empty until made.
    """
    agent: str | None
    asked_by: Annotated[str, Field(alias="askedBy")]
    reason: str
    uses: int
    last_used: Annotated[AwareDatetime | None, Field(alias="lastUsed")]
    used_in: Annotated[list[str], Field(alias="usedIn")]
    """
    Names of the compositions that use it; it cannot be removed before them.
    """


class VersionComparison(Model):
    """
    Two versions of a session beside each other.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    version: VersionAnswer
    other: VersionAnswer
    settings: dict[str, DifferingSetting]
    """
    Only those that differ.
    """
    same_blocks: Annotated[int, Field(alias="sameBlocks")]
    """
    Pieces that both have.
    """
    only_in_version: Annotated[OnlyIn, Field(alias="onlyInVersion")]
    only_in_other: Annotated[OnlyIn, Field(alias="onlyInOther")]
    differences: list[TextDifference]
    """
    In the order in which both stand.
    """
    cursor: str | None


class VersionContent(Model):
    """
    A version and what it says.
    """

    version: VersionAnswer
    content: str
    """
    As Markdown.
    """


class VersionDecision(Model):
    """
    What becomes of a version, and why.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    version_id: Annotated[str, Field(alias="versionId")]
    tokens: int
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    last_used: Annotated[AwareDatetime | None, Field(alias="lastUsed")]
    uses: int
    used_in: Annotated[list[str], Field(alias="usedIn")]
    """
    Names of the compositions that use it.
    """
    reason: str


class VersionForeseen(Model):
    """
    What would come of a compression, by the built-in agent.
    """

    input_tokens: Annotated[int, Field(alias="inputTokens")]
    input_messages: Annotated[int, Field(alias="inputMessages")]
    output_tokens: Annotated[int, Field(alias="outputTokens")]
    output_messages: Annotated[int, Field(alias="outputMessages")]
    compression_ratio: Annotated[float, Field(alias="compressionRatio")]
    preserved: int
    """
    Marked parts that would be kept word for word.
    """
    summarized: int
    thresholds: list[float]
    """
    The least weight that survives, by tier; empty unless decay decides.
    """
    markers: list[MarkerForeseen]
    note: str | None
    """
    Why the ratio would not be near the one asked for.
    """
    is_sampled: Annotated[bool, Field(alias="isSampled")]
    """
    Whether tokens and messages are estimated from a sample of a long session.
    """


class VersionList(Model):
    """
    Versions of a session that are whole, newest first.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    versions: list[VersionAnswer]
    working: VersionAnswer | None
    """
    The one that is being made.
    """
    cursor: str | None


class VersionMade(Model):
    """
    A version was asked for; its job says when it is there. Of a dry run only ``foreseen`` is given.
    """

    version_id: Annotated[str | None, Field(alias="versionId")] = None
    job: JobAnswer | None = None
    foreseen: VersionForeseen | None = None


class VersionRemoved(Model):
    """
    A version was removed; its id is not given again.
    """

    success: bool = True
    version_id: Annotated[str, Field(alias="versionId")]


class WayAtGate(Model):
    """
    One way of searching at the release gate.
    """

    state: Literal["passes", "fails", "not_enough_queries"]
    why: str
    durations: Durations | None


class WebhookAnswer(Model):
    """
    A webhook, without its secret.
    """

    webhook_id: Annotated[str, Field(alias="webhookId")]
    app_id: Annotated[str, Field(alias="appId")]
    url: str
    kinds: list[str]
    enabled: bool
    disabled_at: Annotated[AwareDatetime | None, Field(alias="disabledAt")]
    disabled_why: Annotated[str | None, Field(alias="disabledWhy")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    tried_at: Annotated[AwareDatetime | None, Field(alias="triedAt")]
    """
    When something was last sent there.
    """
    outcome: Literal["delivered", "gone", "refused", "unreachable", "forbidden", "dropped"] | None
    """
    How that went.
    """
    status: int | None
    """
    The HTTP status it answered, if it answered.
    """
    failures: int
    """
    Attempts that failed since it last took something.
    """
    failing_since: Annotated[AwareDatetime | None, Field(alias="failingSince")]
    """
    When the first of them was; after a day (AFTERTHOUGHT_WEBHOOK_DISABLE_HOURS) it is disabled.
    """
    retry_at: Annotated[AwareDatetime | None, Field(alias="retryAt")]
    """
    When it is tried again; what is to be sent there waits till then.
    """


class WebhookList(Model):
    """
    An app's webhooks, oldest first.
    """

    webhooks: list[WebhookAnswer]
    cursor: str | None


class Weigh(Model):
    """
    A weight to put in the place of what is written; null takes it back.
    """

    weight: float | None = None
    """
    Two digits behind the point, as 0.80.
    """
    preset: Literal["PINNED", "CRITICAL", "IMPORTANT", "NOTABLE", "MINOR", "HINT"] | None = None


class Weight(Model):
    """
    A weight in force, from 0 to 1.
    """

    value: float
    source: Literal["setting", "everywhere", "app"]
    """
    What it comes from: the settings, a change for all apps, or one for this app.
    """


class WeightRange(Model):
    """
    Weights in force, of which a session has at least one.
    """

    min: float = 0.0
    max: float = 1.0


class WholeNumber(Model):
    """
    A whole number in force.
    """

    value: int
    source: Literal["setting", "everywhere", "app"]
    """
    What it comes from: the settings, a change for all apps, or one for this app.
    """


class WriteFact(Model):
    """
    A fact written by hand.
    """

    fact: str
    category: Literal["project", "preference", "identity"] | None = None
    """
    Left out: found by its words.
    """
    pinned: bool = False
    user_id: Annotated[str | None, Field(alias="userId")] = None
    said_at: Annotated[AwareDatetime | None, Field(alias="saidAt")] = None
    """
    When it was said, which orders facts about one thing; left out: now.
    """


class WriteMemory(Model):
    """
    A memory written by hand.
    """

    content: str
    importance: int = 5
    tags: list[str] | None = None
    pinned: bool = False
    user_id: Annotated[str | None, Field(alias="userId")] = None
    """
    Whose it is; without it, nobody's in particular.
    """


class WriteProfile(Model):
    """
    What a profile is to say; it takes the place of all that it said.
    """

    preferences: Preferences
    context: Context | None = None
    freeform_notes: Annotated[str, Field(alias="freeformNotes")] = ""


class WrittenFact(Model):
    """
    A fact that was written by hand, and what came of it.
    """

    id: int
    fact: str
    category: Literal["project", "preference", "identity"]
    state: Literal["standing", "replaced", "deleted"]
    confidence: float
    mention_count: Annotated[int, Field(alias="mentionCount")]
    said_at: Annotated[AwareDatetime, Field(alias="saidAt")]
    """
    When it was last said: the order of facts about one thing.
    """
    first_seen: Annotated[AwareDatetime, Field(alias="firstSeen")]
    last_seen: Annotated[AwareDatetime, Field(alias="lastSeen")]
    """
    When it was last heard of here: the clock of expiry.
    """
    last_seen_conversation_id: Annotated[str | None, Field(alias="lastSeenConversationId")]
    pinned: bool
    updates_fact_id: Annotated[int | None, Field(alias="updatesFactId")]
    """
    The fact it contradicted and replaced.
    """
    user_id: Annotated[str | None, Field(alias="userId")]
    by_hand: Annotated[bool, Field(alias="byHand")]
    """
    Whether a person wrote it first.
    """
    agent: str
    """
    Who wrote the present text: extractive, a model, admin or a token.
    """
    version: int
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    undo_until: Annotated[AwareDatetime | None, Field(alias="undoUntil")]
    """
    Until when its deletion can be taken back.
    """
    sources: list[FactSourceAnswer]
    merged: bool = False
    """
    A fact that stood already says it; its confidence grew.
    """
    evicted: list[int] | None = None
    """
    Facts that went because there were too many.
    """


class WrittenMemory(Model):
    """
    A memory, and what went for it.
    """

    id: int
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose it is; null where nobody was named.
    """
    content: str
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """
    When its conversation was held.
    """
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    """
    When the newest of it was said, or a person last changed it.
    """
    updated_on: Annotated[date, Field(alias="updatedOn")]
    """
    The day of updatedAt where its user is.
    """
    source_conversation_id: Annotated[str | None, Field(alias="sourceConversationId")]
    importance: int
    tags: list[str]
    pinned: bool
    agent: str
    """
    Who wrote the present text: extractive, a model, admin or a token.
    """
    version: int
    sources: list[Source]
    made_room: Annotated[list[MemoryEviction], Field(alias="madeRoom")]


class AppList(Model):
    """
    Apps by id.
    """

    apps: list[ListedApp]
    cursor: str | None


class ArchivedChange(Model):
    """
    One thing that happened to a memory.
    """

    memory_id: Annotated[int, Field(alias="memoryId")]
    kind: Literal["created", "edited", "merged", "absorbed", "removed", "gave_way", "restored", "erased"]
    actor: str
    reason: str
    before: str | None = None
    after: str | None = None
    standing: ArchivedStanding | None = None
    conversation_ids: Annotated[list[str] | None, Field(alias="conversationIds")] = None
    related_memory_id: Annotated[int | None, Field(alias="relatedMemoryId")] = None
    at: AwareDatetime


class ArchivedConversation(Model):
    """
    A conversation with its messages.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    user_id: Annotated[str | None, Field(alias="userId")] = None
    energy_budget_micro: Annotated[int | None, Field(alias="energyBudgetMicro")] = None
    metadata: dict[str, Any] | None = None
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    snoozed_until: Annotated[AwareDatetime | None, Field(alias="snoozedUntil")] = None
    end_after_minutes: Annotated[int | None, Field(alias="endAfterMinutes")] = None
    silent_until: Annotated[AwareDatetime | None, Field(alias="silentUntil")] = None
    ended_at: Annotated[AwareDatetime | None, Field(alias="endedAt")] = None
    end_reason: Annotated[str | None, Field(alias="endReason")] = None
    time_zone: Annotated[str | None, Field(alias="timeZone")] = None
    memory: Literal["on", "read", "off"] = "on"
    facts_seen: Annotated[int, Field(alias="factsSeen")] = 0
    summarised: int = 0
    turns_since_summary: Annotated[int, Field(alias="turnsSinceSummary")] = 0
    summaries: list[ArchivedSummary] | None = None
    messages: list[ArchivedMessage] | None = None


class ArchivedFact(Model):
    """
    A fact that stands, or one beneath the fact that replaced it.
    """

    fact_id: Annotated[int, Field(alias="factId")]
    user_id: Annotated[str | None, Field(alias="userId")] = None
    statement: str
    category: Literal["project", "preference", "identity"]
    confidence: float
    mention_count: Annotated[int, Field(alias="mentionCount")] = 1
    pinned: bool = False
    by_hand: Annotated[bool, Field(alias="byHand")] = False
    agent: str
    updates_fact_id: Annotated[int | None, Field(alias="updatesFactId")] = None
    version: int = 1
    said_at: Annotated[AwareDatetime | None, Field(alias="saidAt")] = None
    first_seen: Annotated[AwareDatetime, Field(alias="firstSeen")]
    last_seen: Annotated[AwareDatetime, Field(alias="lastSeen")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    sources: list[ArchivedFactSource]


class ArchivedMemory(Model):
    """
    A memory that stands.
    """

    content: str
    importance: int = 5
    tags: list[str] | None = None
    pinned: bool = False
    memory_id: Annotated[int, Field(alias="memoryId")]
    user_id: Annotated[str | None, Field(alias="userId")] = None
    agent: str
    version: int = 1
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    sources: list[ArchivedSource] | None = None


class AskContext(Model):
    """
    Asks for the context of a conversation. ``messages`` stand for those stored under ``conversationId``.
    """

    conversation_id: Annotated[str | None, Field(alias="conversationId")] = None
    user_id: Annotated[str | None, Field(alias="userId")] = None
    """
    Who speaks, where no conversation is named: that is its own user's, and no other may be named.
    """
    message: str | None = None
    """
    What the user says now; comes last.
    """
    messages: list[ContextMessage] | None = None
    model: str | None = None
    """
    The model whose tokens are meant, as PROVIDER:NAME or NAME; lengths are reckoned as it counts.
    """
    context_window: Annotated[int | None, Field(alias="contextWindow")] = None
    """
    The model's window, tokens; the context is compacted so that it fits.
    """
    reserve: int | None = None
    """
    Tokens of the window to leave for the answer; 1000 when not given.
    """
    token_budget: Annotated[int | None, Field(alias="tokenBudget")] = None
    """
    Most tokens for what is recalled.
    """
    placement: Literal["two", "one"] = "two"
    """
    two: what is recalled whatever is said behind the leading system messages, the same from question to question, and what was chosen for this question before the last user message. one: all of it first.
    """


class AskSearch(Model):
    """
    Searches what was said in an app's conversations.
    """

    query: str
    conversation_id: Annotated[str | None, Field(alias="conversationId")] = None
    """
    Looked in first, and its user's others, or those that name nobody if it does, only where it has fewer than three results.
    """
    user_id: Annotated[str | Literal[""] | None, Field(alias="userId")] = None
    """
    Only this user's conversations, and those that name nobody where the app shares these (empty: only those that name nobody); without it and without a conversation, all of the app's.
    """
    limit: int = 10
    """
    Most results.
    """
    filters: SearchFilters | None = None
    explain: bool = False
    """
    Whether each result says how its score came about.
    """


class AskSessions(Model):
    """
    Searches recorded sessions; every condition that is given must hold, and one must be given.
    """

    text: str | None = None
    files: list[str] | None = None
    """
    Files it touched, whole paths or the ends of such.
    """
    topics: list[str] | None = None
    date_range: Annotated[DateRange | None, Field(alias="dateRange")] = None
    keepit_weight: Annotated[WeightRange | None, Field(alias="keepitWeight")] = None
    kinds: list[Literal["original", "version"]] | None = None
    """
    Originals, versions, or both, each found place by itself; unless given, a session is found once, where most of the words stand. With a text.
    """
    limit: int = 20
    cursor: str | None = None


class AutoDecay(Model):
    """
    Whether and when sessions are compressed further as they grow old.
    """

    enabled: bool = False
    schedule: Literal["daily", "weekly", "on-access"] = "daily"
    rules: DecayRules


class ChangeAgeing(Model):
    """
    Changes the rules of a project; what is left out stays, null takes it back to what the app says.
    """

    retention: Retention | None = None
    auto_decay: Annotated[AutoDecay | None, Field(alias="autoDecay")] = None


class ChangeProject(Model):
    """
    What to change of a project.
    """

    display_name: Annotated[str | None, Field(alias="displayName")] = None
    source_folder: Annotated[str | None, Field(alias="sourceFolder")] = None
    """
    null forgets it; only an admin may name one.
    """
    settings: ChangeProjectSettings | None = None


class ChangeSessionsConfiguration(Model):
    """
    Changes: What holds for all sessions of an app, in the groups and names of ``config.json``.
    """

    storage: ChangeStorageConfiguration | None = None
    defaults: ChangeDefaultsConfiguration | None = None
    keepit_decay: Annotated[ChangeKeepitDecay | None, Field(alias="keepitDecay")] = None
    ui: ChangeBrowserConfiguration | None = None


class ClearedFacts(Model):
    """
    All facts, or all of one user's, are deleted, and can be taken back for a moment.
    """

    success: bool = True
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose; null: the app's.
    """
    deleted_count: Annotated[int, Field(alias="deletedCount")]
    undo_until: Annotated[AwareDatetime, Field(alias="undoUntil")]
    clear_id: Annotated[str, Field(alias="clearId")]
    receipt: Receipt | None = None
    """
    Of a clear before this one, which is final now.
    """


class CompositionForeseen(Model):
    """
    What a composition would be made of; nothing was written.
    """

    token_budget: Annotated[int, Field(alias="tokenBudget")]
    allocated: int
    """
    Tokens allocated to sessions; headings take the rest.
    """
    components: list[ForeseenItem]
    compressions: int
    """
    Versions that would have to be made.
    """


class CompositionMade(Model):
    """
    A composition that was asked for, and the job that makes it.
    """

    composition: CompositionAnswer
    job: JobAnswer


class CompressionSettings(Model):
    """
    What a version is made with; the same settings over the same bytes give the same version.
    """

    mode: Literal["uniform", "tiered"] = "tiered"
    compaction_ratio: Annotated[int | None, Field(alias="compactionRatio")] = None
    """
    Of the uniform mode; 10 unless said.
    """
    aggressiveness: Literal["minimal", "moderate", "aggressive"] | None = None
    """
    Of the uniform mode; by the ratio unless said.
    """
    tier_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"] | None,
        Field(alias="tierPreset"),
    ] = None
    """
    Of the tiered mode; standard unless said.
    """
    custom_tiers: Annotated[list[Tier] | None, Field(alias="customTiers")] = None
    """
    Ascending, the last ends at 100.
    """
    model: str | None = None
    """
    Who compresses: `extractive`, or the model of the settings; that unless said.
    """
    skip_first_messages: Annotated[int, Field(alias="skipFirstMessages")] = 0
    """
    Messages at the beginning to leave out.
    """
    keepit_mode: Annotated[Literal["decay", "preserve-all", "ignore"], Field(alias="keepitMode")] = "decay"
    session_distance: Annotated[int, Field(alias="sessionDistance")] = 1
    """
    1: the latest session; 10 and more: an old one.
    """
    decay: KeepitDecay | None = None
    """
    What is left out is as the project says.
    """


class ConsentAnswer(Model):
    """
    Whether a user agrees to having a profile.
    """

    app_id: Annotated[str, Field(alias="appId")]
    user_id: Annotated[str, Field(alias="userId")]
    consent: bool
    changed_at: Annotated[AwareDatetime | None, Field(alias="changedAt")] = None
    """
    null where the user never said.
    """
    changed_by: Annotated[str | None, Field(alias="changedBy")] = None
    receipt: Receipt | None = None
    """
    What was erased when the consent was taken back.
    """
    note: str | None = None
    """
    What is left to do, where something is.
    """


class Content(Model):
    """
    Everything a profile says.
    """

    preferences: Preferences
    context: Context | None = None
    freeform_notes: Annotated[str, Field(alias="freeformNotes")] = ""


class ContextAnswer(Model):
    """
    The messages to send, what is recalled among them, and what they amount to.
    """

    messages: list[dict[str, Any]]
    recalled_at: Annotated[list[int], Field(alias="recalledAt")]
    """
    Places in messages, from 0, of those that hold what is recalled.
    """
    stable_prefix_tokens: Annotated[int, Field(alias="stablePrefixTokens")]
    """
    Tokens at the beginning of messages that are the same for the next question of the conversation, unless something remembered changes meanwhile or the window becomes full; with placement one, 0.
    """
    system_prompt: Annotated[str, Field(alias="systemPrompt")]
    """
    The recalled text alone, all of it; it already stands in messages.
    """
    memory_tokens: Annotated[int, Field(alias="memoryTokens")]
    total_tokens: Annotated[int, Field(alias="totalTokens")]
    percent_used: Annotated[float | None, Field(alias="percentUsed")]
    """
    Of contextWindow, per cent; null when none was given.
    """
    stage: Literal["none", "stage1", "stage2"]
    """
    How far it was compacted.
    """
    included: Included
    missing: list[str]
    """
    Parts that could not be had at the moment.
    """
    degraded: list[str]
    """
    What the search for earlier messages had to do without: words, vectors, embedding.
    """
    trimmed: int
    """
    Messages left out to fit the window.
    """
    cut: bool
    """
    Whether a message was shortened, because it alone exceeds the window.
    """
    shrunk: bool
    """
    Whether the conversation leaves so little of the window that less is recalled beside it.
    """
    token_source: Annotated[Literal["provider", "calibrated", "estimated"], Field(alias="tokenSource")]
    """
    The least certain figure used: the provider's, one calibrated for the model, or an estimate.
    """


class ConversationDetails(Model):
    """
    A conversation, what it has cost and what it gave rise to.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    app_id: Annotated[str, Field(alias="appId")]
    user_id: Annotated[str | None, Field(alias="userId")]
    state: Literal["open", "snoozed", "ended"]
    message_count: Annotated[int, Field(alias="messageCount")]
    metadata: dict[str, Any]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    snoozed_until: Annotated[AwareDatetime | None, Field(alias="snoozedUntil")]
    woken_at: Annotated[AwareDatetime | None, Field(alias="wokenAt")]
    """
    When its last snooze ended, until something new is said.
    """
    unanswered_since: Annotated[AwareDatetime | None, Field(alias="unansweredSince")]
    """
    When the oldest user message came that no answer follows.
    """
    end_after_minutes: Annotated[int | None, Field(alias="endAfterMinutes")]
    """
    Of silence, after which it ends by itself.
    """
    ended_at: Annotated[AwareDatetime | None, Field(alias="endedAt")]
    end_reason: Annotated[str | None, Field(alias="endReason")]
    time_zone: Annotated[str | None, Field(alias="timeZone")]
    """
    Whose days are meant in it, an IANA name; without it the user's, or what its messages came with.
    """
    memory: Literal["on", "read", "off"]
    """
    on: it is remembered; read: it is recalled into, and nothing of it is remembered; off: neither.
    """
    energy_spent: Annotated[float, Field(alias="energySpent")]
    energy_budget: Annotated[float | None, Field(alias="energyBudget")]
    energy_remaining: Annotated[float | None, Field(alias="energyRemaining")]
    """
    Negative when the budget is exceeded; null without one.
    """
    budget_status: Annotated[Literal["within", "depleted", "exceeded"] | None, Field(alias="budgetStatus")]
    pending_answer_id: Annotated[str | None, Field(alias="pendingAnswerId")]
    """
    The loop's answer that waits for approval; not told to a user's own token.
    """
    jobs: list[JobAnswer]


class DebugAnswer(Model):
    """
    A retrieval taken apart.
    """

    query: str
    results: list[DebugResult]
    metrics: dict[str, float]
    """
    Durations: totalMs, embedMs, ftsMs, denseMs, rerankMs.
    """
    top_similarities: Annotated[list[float], Field(alias="topSimilarities")]
    """
    Cosines of the three results most like the question.
    """
    sources: dict[str, int]
    flags: dict[str, Any]
    degraded: list[str]


class DecayPreview(Model):
    """
    What would become of a session's marked parts.
    """

    markers: list[MarkerForeseen]
    threshold: float
    """
    The least weight that survives.
    """
    pinned_weight: Annotated[float, Field(alias="pinnedWeight")]
    """
    What weighs this much always survives.
    """


class EndedConversation(Model):
    """
    The jobs that ending it asked for; the same ones when it is ended again.
    """

    conversation_id: Annotated[str, Field(alias="conversationId")]
    jobs: list[JobAnswer]


class EnergyHistory(Model):
    """
    The last hours, the present one last; those without a call too.
    """

    hours: list[HourAnswer]


class Erased(Model):
    """
    What a purge or an erasure did.
    """

    success: bool = True
    deleted_count: Annotated[int, Field(alias="deletedCount")]
    receipt: Receipt
    note: str | None = None
    """
    What is left to do, where something is.
    """


class ErrorAnswer(Model):
    """
    The shape of every answer that is not a success.
    """

    error: ErrorBody


class EventList(Model):
    """
    Events by position.
    """

    events: list[EventPayload]
    cursor: int
    """
    What to ask after next.
    """
    gap: GapAnswer | None
    """
    What was lost to age; null when nothing was.
    """


class EvictionAnswer(Model):
    """
    What would go of each user's facts. Pinned facts never do, and are not named.
    """

    standing: int
    remain: int = 120
    """
    Facts of a user that remain after an eviction.
    """
    limit: int = 150
    """
    Facts of a user at the very most.
    """
    more: int
    """
    As if each user had so many new ones.
    """
    facts: list[ScoredFactItem]
    expiring: list[int]
    """
    The same facts, the one that expires next first.
    """


class FactAnswer(Model):
    """
    A fact.
    """

    id: int
    fact: str
    category: Literal["project", "preference", "identity"]
    state: Literal["standing", "replaced", "deleted"]
    confidence: float
    mention_count: Annotated[int, Field(alias="mentionCount")]
    said_at: Annotated[AwareDatetime, Field(alias="saidAt")]
    """
    When it was last said: the order of facts about one thing.
    """
    first_seen: Annotated[AwareDatetime, Field(alias="firstSeen")]
    last_seen: Annotated[AwareDatetime, Field(alias="lastSeen")]
    """
    When it was last heard of here: the clock of expiry.
    """
    last_seen_conversation_id: Annotated[str | None, Field(alias="lastSeenConversationId")]
    pinned: bool
    updates_fact_id: Annotated[int | None, Field(alias="updatesFactId")]
    """
    The fact it contradicted and replaced.
    """
    user_id: Annotated[str | None, Field(alias="userId")]
    by_hand: Annotated[bool, Field(alias="byHand")]
    """
    Whether a person wrote it first.
    """
    agent: str
    """
    Who wrote the present text: extractive, a model, admin or a token.
    """
    version: int
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    undo_until: Annotated[AwareDatetime | None, Field(alias="undoUntil")]
    """
    Until when its deletion can be taken back.
    """
    sources: list[FactSourceAnswer]


class FactList(Model):
    """
    Facts: pinned ones first, then by category, confidence and how lately they were said.
    """

    facts: list[FactAnswer]
    total: int
    """
    On all pages.
    """
    cursor: str | None
    clear_undo_until: Annotated[AwareDatetime | None, Field(alias="clearUndoUntil")] = None
    """
    Until when the last clear of the facts asked for can be taken back; null: none can.
    """


class FactOutcome(Model):
    """
    What became of one of many facts.
    """

    id: int
    undo_until: Annotated[AwareDatetime | None, Field(alias="undoUntil")] = None
    fact: FactAnswer | None = None
    """
    As it is now; null for a deleted one.
    """


class FoundSession(Model):
    """
    A session, or a version of one, that was found.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    version_id: Annotated[str | None, Field(alias="versionId")]
    """
    None: the original.
    """
    score: float
    snippet: SessionSnippet | None
    matched_files: Annotated[list[str], Field(alias="matchedFiles")]
    matched_topics: Annotated[list[str], Field(alias="matchedTopics")]
    topics: list[str]
    first_timestamp: Annotated[AwareDatetime | None, Field(alias="firstTimestamp")]
    last_timestamp: Annotated[AwareDatetime | None, Field(alias="lastTimestamp")]
    is_linked: Annotated[bool, Field(alias="isLinked")]
    """
    Whether it belongs to another project than the one searched.
    """


class FoundSessions(Model):
    """
    What was found: with a text the best first, else the latest first.
    """

    results: list[FoundSession]
    cursor: str | None


class IndexAnswer(Model):
    """
    How complete an app's indexes are.
    """

    app_id: Annotated[str, Field(alias="appId")]
    messages: int
    """
    Messages of users and assistants; others are not indexed.
    """
    words: int
    """
    Of them, those whose words are indexed.
    """
    word_index_present: Annotated[bool, Field(alias="wordIndexPresent")]
    unembedded: int
    """
    Of them, those whose vectors are still to be made.
    """
    vectors: list[VectorSetAnswer]
    backfill: ProgressAnswer | None
    backfill_asked_at: Annotated[AwareDatetime | None, Field(alias="backfillAskedAt")]
    backfill_ended_at: Annotated[AwareDatetime | None, Field(alias="backfillEndedAt")]


class MakeVersion(Model):
    """
    Asks for a version; what is left out is as the project says.
    """

    mode: Literal["uniform", "tiered"] = "tiered"
    compaction_ratio: Annotated[int | None, Field(alias="compactionRatio")] = None
    """
    Of the uniform mode; 10 unless said.
    """
    aggressiveness: Literal["minimal", "moderate", "aggressive"] | None = None
    """
    Of the uniform mode; by the ratio unless said.
    """
    tier_preset: Annotated[
        Literal["gentle", "standard", "aggressive", "custom"] | None,
        Field(alias="tierPreset"),
    ] = None
    """
    Of the tiered mode; standard unless said.
    """
    custom_tiers: Annotated[list[Tier] | None, Field(alias="customTiers")] = None
    """
    Ascending, the last ends at 100.
    """
    model: str | None = None
    """
    Who compresses: `extractive`, or the model of the settings; that unless said.
    """
    skip_first_messages: Annotated[int, Field(alias="skipFirstMessages")] = 0
    """
    Messages at the beginning to leave out.
    """
    keepit_mode: Annotated[Literal["decay", "preserve-all", "ignore"], Field(alias="keepitMode")] = "decay"
    session_distance: Annotated[int, Field(alias="sessionDistance")] = 1
    """
    1: the latest session; 10 and more: an old one.
    """
    decay: KeepitDecay | None = None
    """
    What is left out is as the project says.
    """
    source_version: Annotated[str | None, Field(alias="sourceVersion")] = None
    """
    The version to make it from; the original unless said.
    """
    reason: str = ""
    """
    Kept with the version.
    """
    dry_run: Annotated[bool, Field(alias="dryRun")] = False
    """
    Only say what would come of it.
    """


class MarkerItem(Model):
    """
    A marked part of a message.
    """

    marker_id: Annotated[str, Field(alias="markerId")]
    message_uuid: Annotated[str, Field(alias="messageUuid")]
    weight: float
    """
    The weight in force.
    """
    written_weight: Annotated[float, Field(alias="writtenWeight")]
    """
    What the message says.
    """
    overridden_by: Annotated[str | None, Field(alias="overriddenBy")]
    """
    Who put another weight in its place.
    """
    overridden_at: Annotated[AwareDatetime | None, Field(alias="overriddenAt")]
    content: str
    position: Position
    context: str
    """
    What stands around it, with `[...]` in its place.
    """
    before: str
    """
    What stands before the marker in its message, its last 80 characters.
    """
    after: str
    """
    What stands behind the marked part in its message, its first 80 characters.
    """
    created_at: Annotated[AwareDatetime | None, Field(alias="createdAt")]
    survived_in: Annotated[list[str], Field(alias="survivedIn")]
    """
    Versions that hold it word for word.
    """
    summarized_in: Annotated[list[str], Field(alias="summarizedIn")]


class MarkerList(Model):
    """
    A session's marked parts, in their order.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    keepits: list[MarkerItem]
    problems: list[MarkerProblemItem]
    """
    What looks like a marker and is not well written.
    """
    cursor: str | None


class MemoryAnswer(Model):
    """
    A memory.
    """

    id: int
    user_id: Annotated[str | None, Field(alias="userId")]
    """
    Whose it is; null where nobody was named.
    """
    content: str
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    """
    When its conversation was held.
    """
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]
    """
    When the newest of it was said, or a person last changed it.
    """
    updated_on: Annotated[date, Field(alias="updatedOn")]
    """
    The day of updatedAt where its user is.
    """
    source_conversation_id: Annotated[str | None, Field(alias="sourceConversationId")]
    importance: int
    tags: list[str]
    pinned: bool
    agent: str
    """
    Who wrote the present text: extractive, a model, admin or a token.
    """
    version: int
    sources: list[Source]


class MemoryList(Model):
    """
    Memories, last updated first.
    """

    memories: list[MemoryAnswer]
    cap: int
    """
    Most memories a user may have; what names nobody counts as one user's.
    """
    cursor: str | None = None


class ProfileAnswer(Model):
    """
    A user's profile, if they agree to having one.
    """

    app_id: Annotated[str, Field(alias="appId")]
    user_id: Annotated[str, Field(alias="userId")]
    consent: bool
    profile: ProfileItem | None
    """
    null without consent, and before anything was written.
    """


class ProjectDetail(Model):
    """
    A project with its sessions.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    original_path: Annotated[str, Field(alias="originalPath")]
    display_name: Annotated[str, Field(alias="displayName")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    last_accessed: Annotated[AwareDatetime, Field(alias="lastAccessed")]
    last_modified: Annotated[AwareDatetime, Field(alias="lastModified")]
    sessions: int
    settings: ProjectSettings
    """
    What is in force.
    """
    own_settings: Annotated[dict[str, Any], Field(alias="ownSettings")]
    """
    What the project says itself; the rest is as its app says.
    """
    source_folder: Annotated[str | None, Field(alias="sourceFolder")]
    scanned_at: Annotated[AwareDatetime | None, Field(alias="scannedAt")]
    refused_files: Annotated[list[RefusedFile], Field(alias="refusedFiles")]
    """
    Files of its folder that could not be taken in.
    """
    storage: StorageFigures
    session_list: Annotated[SessionList, Field(alias="sessionList")]
    """
    The first of its sessions; its cursor goes on under /api/memory/projects/PROJECT/sessions.
    """


class ProjectItem(Model):
    """
    A project.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    original_path: Annotated[str, Field(alias="originalPath")]
    display_name: Annotated[str, Field(alias="displayName")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    last_accessed: Annotated[AwareDatetime, Field(alias="lastAccessed")]
    last_modified: Annotated[AwareDatetime, Field(alias="lastModified")]
    sessions: int
    settings: ProjectSettings
    """
    What is in force.
    """
    own_settings: Annotated[dict[str, Any], Field(alias="ownSettings")]
    """
    What the project says itself; the rest is as its app says.
    """
    source_folder: Annotated[str | None, Field(alias="sourceFolder")]
    scanned_at: Annotated[AwareDatetime | None, Field(alias="scannedAt")]
    refused_files: Annotated[list[RefusedFile], Field(alias="refusedFiles")]
    """
    Files of its folder that could not be taken in.
    """


class ProjectList(Model):
    """
    Projects, newest first.
    """

    projects: list[ProjectItem]
    cursor: str | None


class Pruned(Model):
    """
    What went, or would go.
    """

    dry_run: Annotated[bool, Field(alias="dryRun")]
    removed: list[VersionDecision]
    """
    What went; of a dry run, what would.
    """
    kept: list[VersionDecision]
    """
    What meets the rules and stays, and why.
    """
    tokens: int
    """
    Of what went.
    """
    warnings: list[str]


class PurgedMemories(Model):
    """
    What a purge of memories did, and what it does not reach.
    """

    success: bool = True
    deleted_count: Annotated[int, Field(alias="deletedCount")]
    receipt: Receipt
    note: str | None = None
    """
    What is left to do, where something is.
    """
    still_remembered: Annotated[StillRemembered, Field(alias="stillRemembered")]


class ReleaseGateAnswer(Model):
    """
    Whether a release may go out by what was measured: each way with at least 20 queries fast enough.
    """

    passes: bool
    state: Literal["passes", "fails", "not_enough_queries"]
    """
    fails when anything does; not_enough_queries when no way has 20 queries.
    """
    ways: dict[str, WayAtGate]
    summaries_asked: Annotated[int, Field(alias="summariesAsked")]
    summaries_made: Annotated[int, Field(alias="summariesMade")]
    summaries_state: Annotated[Literal["passes", "fails", "not_enough_queries"], Field(alias="summariesState")]
    """
    not_enough_queries when none was asked for.
    """


class RestoredMemory(Model):
    """
    A memory after a change was taken back, and what went for it.
    """

    success: bool = True
    memory: MemoryAnswer
    made_room: Annotated[list[MemoryEviction], Field(alias="madeRoom")]


class RetrievalMetrics(Model):
    """
    What the retrievals of a period amount to.
    """

    app_id: Annotated[str | None, Field(alias="appId")]
    """
    Null: of all apps.
    """
    since: AwareDatetime
    retrievals: int
    hit_rate: Annotated[float | None, Field(alias="hitRate")]
    """
    Share that found something, 0..1.
    """
    mean_top_score: Annotated[float | None, Field(alias="meanTopScore")]
    mean_top_similarities: Annotated[list[float], Field(alias="meanTopSimilarities")]
    """
    Cosines of the three results most like each question: the mean of the best, the second, the third.
    """
    durations: dict[str, Durations]
    """
    By stage: totalMs, embedMs, ftsMs, denseMs, rerankMs.
    """
    sources: dict[str, int]
    """
    Results by what brought them: conversationDense, globalDense, ftsLexical, summaries, profile; one may count more than once.
    """
    flags: dict[str, float]
    """
    Share of retrievals with each flag on, 0..1.
    """
    degraded: dict[str, int]
    """
    Retrievals that did without a part.
    """
    token_budget_used: Annotated[float | None, Field(alias="tokenBudgetUsed")]
    """
    Mean share of the budget that contexts used, 0..1.
    """
    gate: ReleaseGateAnswer


class ScanAnswer(Model):
    """
    What became of the files of a folder.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    registered: list[str]
    synced: list[str]
    unchanged: int
    refused: list[RefusedFile]
    """
    These are tried again once they change.
    """
    left: int
    """
    Files that were not looked at yet; ask again.
    """
    foreseen: list[SessionForeseen] | None = None
    """
    Of a dry run: what is not registered yet, and would be.
    """
    cursor: str | None = None
    """
    Of a dry run: goes on with the files that were not looked at.
    """


class SearchAnswer(Model):
    """
    What was found, best first.
    """

    results: list[SearchResult]
    widened: bool
    """
    Whether other conversations than the one named were looked in.
    """
    degraded: list[str]
    """
    Parts that had to be done without: words, vectors (none are made yet), embedding (of the query).
    """


class SemanticItem(Model):
    """
    What sessions of a project have in common, or one of them laid down.
    """

    id: str
    type: Literal["pattern", "decision", "preference", "fact"]
    content: str
    confidence: float
    """
    0..1; rises with the sessions that bear it.
    """
    verdict: Literal["proposed", "confirmed", "rejected"]
    validated_by_user: Annotated[bool, Field(alias="validatedByUser")]
    """
    Whether a person confirmed it.
    """
    decided_by: Annotated[str | None, Field(alias="decidedBy")]
    decided_at: Annotated[AwareDatetime | None, Field(alias="decidedAt")]
    agent: str
    sources: list[SemanticSourceItem]
    extracted_at: Annotated[AwareDatetime, Field(alias="extractedAt")]


class SemanticList(Model):
    """
    A project's semantic memories, newest first.
    """

    memories: list[SemanticItem]
    sessions_learnt: Annotated[int, Field(alias="sessionsLearnt")]
    """
    Sessions that were learnt from as they are now.
    """
    sessions: int
    cursor: str | None


class SessionDetail(Model):
    """
    A registered session with the files it touched most.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    original_file: Annotated[str | None, Field(alias="originalFile")]
    """
    Where it is from; null for an upload.
    """
    size_bytes: Annotated[int, Field(alias="sizeBytes")]
    """
    Without a last line that is still being written.
    """
    sha256: str
    """
    Of those bytes of the original.
    """
    original_tokens: Annotated[int, Field(alias="originalTokens")]
    original_messages: Annotated[int, Field(alias="originalMessages")]
    first_timestamp: Annotated[AwareDatetime | None, Field(alias="firstTimestamp")]
    last_timestamp: Annotated[AwareDatetime | None, Field(alias="lastTimestamp")]
    metadata: dict[str, Any]
    """
    Title, how the first prompt begins, branch, version, folder, models, topics.
    """
    counts: dict[str, int]
    """
    Lines, prompts, messages, tool uses, tokens by usage, oddities.
    """
    markers: int
    marker_problems: Annotated[list[MarkerProblemItem], Field(alias="markerProblems")]
    registered_at: Annotated[AwareDatetime, Field(alias="registeredAt")]
    synced_at: Annotated[AwareDatetime, Field(alias="syncedAt")]
    last_accessed: Annotated[AwareDatetime, Field(alias="lastAccessed")]
    used_at: Annotated[AwareDatetime | None, Field(alias="usedAt")]
    """
    When it was last used: composed, handed out as a version, read; null before.
    """
    versions: int
    files: list[TouchedFileItem]
    storage: StorageFigures


class SessionsConfiguration(Model):
    """
    What holds for all sessions of an app, in the groups and names of ``config.json``.
    """

    storage: StorageConfiguration
    defaults: DefaultsConfiguration
    keepit_decay: Annotated[KeepitDecay, Field(alias="keepitDecay")]
    ui: BrowserConfiguration


class TuningAnswer(Model):
    """
    How retrieval and summaries work.
    """

    hybrid: Switch
    chunking: Switch
    token_budget: Annotated[WholeNumber, Field(alias="tokenBudget")]
    summary_frequency: Annotated[WholeNumber, Field(alias="summaryFrequency")]
    formula: Formula
    alpha: Weight
    beta: Weight
    gamma: Weight
    metrics_days: Annotated[WholeNumber, Field(alias="metricsDays")]
    clamped: list[str] = []
    """
    What was brought within its bounds by this change.
    """
    note: str | None = None
    """
    What this change changed beside what was given.
    """


class AgeingAnswer(Model):
    """
    How a project's versions age.
    """

    project_id: Annotated[str, Field(alias="projectId")]
    retention: Retention
    """
    What is in force.
    """
    auto_decay: Annotated[AutoDecay, Field(alias="autoDecay")]
    """
    What is in force.
    """
    own_rules: Annotated[dict[str, Any], Field(alias="ownRules")]
    """
    `compressionRetention` and `autoDecay` as the project says them itself; else the app's hold.
    """
    shown: bool
    """
    Whether what these rules would do was shown; the next run then carries it out.
    """
    last_run: Annotated[AwareDatetime | None, Field(alias="lastRun")]
    """
    When the rules were last followed or tried.
    """
    last_plan: Annotated[PlanAnswer | None, Field(alias="lastPlan")]
    """
    The last run that had anything to say.
    """


class ArchivedProfile(Model):
    """
    What a user agreed to have kept; that they agreed is said by its being here.
    """

    user_id: Annotated[str, Field(alias="userId")] = ""
    content: Content
    agreed_at: Annotated[AwareDatetime, Field(alias="agreedAt")]
    created_at: Annotated[AwareDatetime, Field(alias="createdAt")]
    updated_at: Annotated[AwareDatetime, Field(alias="updatedAt")]


class ChangedFact(Model):
    """
    A fact after a change.
    """

    success: bool = True
    fact: FactAnswer


class ChangedFacts(Model):
    """
    What became of each, in the order in which they were named.
    """

    success: bool = True
    results: list[FactOutcome]


class ComponentRequest(Model):
    """
    A session that is to be in it.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    version_id: Annotated[str, Field(alias="versionId")] = "auto"
    """
    `auto`, `original`, or a version as `v001`.
    """
    allocation: int | None = None
    """
    Its tokens; with strategy custom.
    """
    recompress_settings: Annotated[CompressionSettings | None, Field(alias="recompressSettings")] = None
    """
    Has a new version made for it; with versionId auto.
    """


class EditedMemory(Model):
    """
    A memory after a change.
    """

    success: bool = True
    memory: MemoryAnswer


class ForeseeComposition(Model):
    """
    Asks what a composition would be made of.
    """

    components: list[ComponentRequest]
    total_token_budget: Annotated[int, Field(alias="totalTokenBudget")]
    """
    Never exceeded.
    """
    strategy: Literal["equal", "proportional", "recent-first", "custom"] = "equal"
    output_format: Annotated[Literal["markdown", "jsonl", "both"], Field(alias="outputFormat")] = "both"
    order: Literal["as-given", "oldest-first"] = "as-given"
    min_freshness: Annotated[int | None, Field(alias="minFreshness")] = None
    """
    1: versions must cover all there is now; 10: any version will do.
    """
    model: str | None = None
    """
    Who compresses where that is needed.
    """
    name: str | None = None
    """
    Stands above it, so that a long one takes a few tokens.
    """


class MakeComposition(Model):
    """
    Asks for a composition.
    """

    components: list[ComponentRequest]
    total_token_budget: Annotated[int, Field(alias="totalTokenBudget")]
    """
    Never exceeded.
    """
    strategy: Literal["equal", "proportional", "recent-first", "custom"] = "equal"
    output_format: Annotated[Literal["markdown", "jsonl", "both"], Field(alias="outputFormat")] = "both"
    order: Literal["as-given", "oldest-first"] = "as-given"
    min_freshness: Annotated[int | None, Field(alias="minFreshness")] = None
    """
    1: versions must cover all there is now; 10: any version will do.
    """
    model: str | None = None
    """
    Who compresses where that is needed.
    """
    name: str
    """
    Unique in its project; also its folder's name.
    """
    replace: bool = False
    """
    Whether one of that name makes way; it is removed at once.
    """


class SuggestedSession(Model):
    """
    A session that may help, in the form that fits.
    """

    session_id: Annotated[str, Field(alias="sessionId")]
    project_id: Annotated[str, Field(alias="projectId")]
    version_id: Annotated[str | None, Field(alias="versionId")]
    """
    A version, `original`, or None: one would have to be made.
    """
    relevance_score: Annotated[float, Field(alias="relevanceScore")]
    parts: dict[str, float]
    """
    What each part adds to the relevance.
    """
    matched_topics: Annotated[list[str], Field(alias="matchedTopics")]
    matched_files: Annotated[list[str], Field(alias="matchedFiles")]
    suggested_tokens: Annotated[int, Field(alias="suggestedTokens")]
    component: ComponentRequest
    """
    As POST …/compositions takes it among its components.
    """


class Suggestions(Model):
    """
    What may help, the most relevant first; together they never take more than the budget.
    """

    suggestions: list[SuggestedSession]
    suggested_tokens: Annotated[int, Field(alias="suggestedTokens")]
    token_budget: Annotated[int, Field(alias="tokenBudget")]


class Archive(Model):
    """
    Everything of an app but its tokens, jobs and spending.
    """

    format: Literal["afterthought.app"] = "afterthought.app"
    version: Literal[1] = 1
    exported_at: Annotated[AwareDatetime, Field(alias="exportedAt")]
    app: ArchivedApp
    users: list[ArchivedUser] | None = None
    conversations: list[ArchivedConversation] | None = None
    origins: list[ArchivedOrigin] | None = None
    memories: list[ArchivedMemory] | None = None
    history: list[ArchivedChange] | None = None
    facts: list[ArchivedFact] | None = None
    fact_history: Annotated[list[ArchivedFactChange] | None, Field(alias="factHistory")] = None
    profiles: list[ArchivedProfile] | None = None

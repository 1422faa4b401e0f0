"""The Grafana dashboard, written by ``python -m ops.reference``.

Rows and panels are listed here with their queries and units; the layout is filled in. The first row is open, the others
are folded, and the last is there once for each app. Thresholds are those of
``ops/prometheus/alerts.yml``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24
_HEIGHTS = {"timeseries": 8, "stat": 4, "table": 8}
_GREEN, _ORANGE, _RED = "green", "orange", "red"


@dataclass(frozen=True)
class Panel:
    """One panel: what it shows, by which queries (PromQL to legend)."""

    title: str
    text: str
    queries: Mapping[str, str]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    steps: Sequence[tuple[float, str]] = ()
    """From which value on which colour; below the first is green unless the first stands at minus infinity."""
    low: float | None = None
    high: float | None = None
    stacked: bool = False


def _stat(
    title: str, text: str, query: str, unit: str, steps: Sequence[tuple[float, str]] = (), width: int = 4
) -> Panel:
    return Panel(title, text, {query: ""}, unit, "stat", width, steps)


_DOWN_IS_RED = ((float("-inf"), _RED), (1.0, _GREEN))
_BELOW_GATE = ((float("-inf"), _RED), (20.0, _GREEN))

HEALTH = (
    _stat("Loop", "Whether Prometheus gets metrics from the loop.", 'min(up{job="afterthought-loop"})', "bool_yes_no",
          _DOWN_IS_RED),
    _stat("Database", "Whether the database answered the last scrape.", "min(afterthought_database_up)", "bool_yes_no",
          _DOWN_IS_RED),
    _stat("Redis", "Whether Redis answered the last scrape.", "min(afterthought_redis_up)", "bool_yes_no",
          _DOWN_IS_RED),
    _stat("Workers", "Workers that lately said they hear their queue.", "max(afterthought_workers)", "short",
          _DOWN_IS_RED),
    _stat("Alerts firing", "Alerts of ours that fire now; the runbook has a section for each.",
          'count(ALERTS{alertname=~"Afterthought.*",alertstate="firing"}) or vector(0)', "short", ((1.0, _RED),)),
    _stat("Release", "Loops by the version they run.", "count by (version) (afterthought_build_info)", "short"),
    _stat("Loops that regulate", "One; others that run are on standby.", "sum(afterthought_regulating)", "short",
          ((float("-inf"), _RED), (1.0, _GREEN), (2.0, _RED))),
    _stat("Age of the last tick", "Of the loop that ticked longest ago; over 10 s is an alert.",
          "max(afterthought_tick_age_seconds)", "s", ((10.0, _RED),)),
    _stat("Takeovers in 24 hours", "Times a loop began to regulate; each start of a lone loop is one.",
          "sum(increase(afterthought_takeovers_total[24h]))", "short"),
    _stat("Whole ticks", "95 % of ticks take less.",
          "histogram_quantile(0.95, sum by (le) (rate(afterthought_whole_tick_duration_seconds_bucket[5m])))", "s"),
    _stat("Apps", "Installed apps.", "max(afterthought_apps)", "short"),
    _stat("Who answers", "Whether the loop answers conversations: a model is set and thinking is switched on.",
          "max(afterthought_thinking)", "bool_yes_no"),
    Panel("What fires", "Alerts that fire, over time.",
          {'count by (alertname, severity) (ALERTS{alertname=~"Afterthought.*",alertstate="firing"})':
           "{{severity}} {{alertname}}"}),
    Panel("Failures of the tick", "Steps of the loop's tick that failed, in 5 minutes.",
          {"sum by (step) (increase(afterthought_tick_failures_total[5m]))": "{{step}}"}, steps=((2.0, _RED),)),
    Panel("Duration of the tick's steps", "95 % of runs are faster.",
          {"histogram_quantile(0.95, sum by (step, le) (rate(afterthought_tick_duration_seconds_bucket[5m])))":
           "{{step}}"}, "s"),
)  # fmt: skip

ENERGY = (
    _stat("Level", "Energy now; memory work starts only above the gate.", "max(afterthought_energy_level_units)",
          "short", _BELOW_GATE),
    _stat("Reserved", "Set aside for model calls under way.", "max(afterthought_energy_reserved_units)", "short"),
    _stat("Share of memory work", "Of the energy spent in 24 hours; 100 % where nothing else spends.",
          "max(afterthought_energy_memory_share_ratio)", "percentunit"),
    _stat("Spent in 24 hours", "Units booked in the ledger.",
          "sum(increase(afterthought_energy_spent_units_total[24h]))", "short"),
    _stat("Apps held by their budget", "Apps that have work and no budget left for it.", "max(afterthought_apps_held)",
          "short", ((1.0, _ORANGE),)),
    _stat("Called back in 24 hours", "Jobs that were sent and taken back because energy had run out.",
          "sum(increase(afterthought_jobs_shed_total[24h]))", "short", ((1.0, _ORANGE),)),
    Panel("Level, reserved and gate", "Between the floor of -50 and 100 units.",
          {"max(afterthought_energy_level_units)": "level", "max(afterthought_energy_reserved_units)": "reserved",
           "max(afterthought_energy_gate_units)": "gate", "min(afterthought_energy_floor_units)": "floor"},
          low=-50, high=100),
    Panel("Spending by kind of work", "Units a minute.",
          {"sum by (kind) (rate(afterthought_energy_spent_units_total[5m])) * 60": "{{kind}}"}, stacked=True),
    Panel("Deferred jobs", "By what they wait for; an alert follows growth by more than ten an hour.",
          {"max by (cause) (afterthought_deferred_jobs)": "{{cause}}"}, stacked=True),
    Panel("Longest deferral", "How long the first deferred job has been so. An hour of waiting for energy is an alert.",
          {"max by (cause) (afterthought_oldest_deferred_job_seconds)": "{{cause}}"}, "s", steps=((3600.0, _RED),)),
    Panel("Newly deferred", "An hour: times a job was deferred, by what for, or called back.",
          {"sum(increase(afterthought_energy_deferrals_total[1h]))": "for energy",
           "sum(increase(afterthought_budget_deferrals_total[1h]))": "for a budget",
           "sum(increase(afterthought_provider_deferrals_total[1h]))": "for the model's server",
           "sum(increase(afterthought_jobs_shed_total[1h]))": "called back"}),
    Panel("Apps that wait", "Apps with a job that waits, by what it competes for; held ones have no budget left.",
          {"max by (work_class) (afterthought_apps_waiting)": "{{work_class}}", "max(afterthought_apps_held)": "held"}),
)  # fmt: skip

MEMORIES = (
    _stat("Memories", "Memories that stand, of all apps.", "max(afterthought_memories)", "short", width=3),
    _stat("Utilisation", "Installed apps with at least one memory.", "max(afterthought_memory_utilisation_ratio)",
          "percentunit"),
    _stat("Injection rate", "Contexts of the last hour with memories in them.",
          "afterthought:contexts_injected:ratio1h", "percentunit"),
    _stat("Fallbacks", "Compactions of 6 hours where the agent could not decide and the rules did.",
          "afterthought:compaction_fallbacks:ratio6h", "percentunit", ((0.2, _RED),)),
    _stat("Open conversations", "Conversations that have not ended.", 'max(afterthought_conversations{state="open"})',
          "short", width=3),
    _stat("Age of the totals", "How long ago memories, conversations, facts, apps, sessions and finished jobs were "
          "counted: in a large installation that is seldom.", "min(afterthought_totals_age_seconds)", "s", width=3),
    _stat("Erasures in 24 hours", "Purges and erasures carried out.", "sum(increase(afterthought_erasures_total[24h]))",
          "short", width=3),
    Panel("Memories made", "An hour, by who wrote them.",
          {"sum by (agent) (increase(afterthought_memories_created_total[1h]))": "{{agent}}",
           "sum(increase(afterthought_nothing_to_remember_total[1h]))": "nothing to remember"}),
    Panel("Compactions by outcome", "An hour: what went so that an app stays within its cap.",
          {"sum by (outcome) (increase(afterthought_compactions_total[1h]))": "{{outcome}}"}, stacked=True),
    Panel("Compactions by reason", "An hour: why it was made so.",
          {"sum by (reason) (increase(afterthought_compactions_total[1h]))": "{{reason}}"}, stacked=True),
    Panel("Compactions per app and day", "Of installed apps with memories; of one app: GET /apps/{app}/compactions.",
          {"sum by (outcome) (increase(afterthought_compactions_total[1d]))"
           " / scalar(max(afterthought_apps_with_memories) > 0)": "{{outcome}}"}, stacked=True),
    Panel("Contexts handed out", "A minute, by whether memories were in them.",
          {"sum by (injected) (rate(afterthought_contexts_total[5m])) * 60": "with memories: {{injected}}"}, width=12),
    Panel("Erasures", "An hour, by scope; incomplete ones left something behind.",
          {"sum by (scope) (increase(afterthought_erasures_total[1h]))": "{{scope}}",
           "sum(increase(afterthought_erasures_incomplete_total[1h]))": "incomplete"}, width=12),
)  # fmt: skip

JOBS = (
    Panel("Unfinished jobs", "By state.",
          {'sum by (state) (max by (kind, state) (afterthought_jobs{state!~"done|nothing|dead|cancelled"}))':
           "{{state}}"}, stacked=True),
    Panel("Age of the oldest waiting job", "Deferred ones left out; over 15 minutes is an alert.",
          {"max by (kind) (afterthought_oldest_waiting_job_seconds)": "{{kind}}"}, "s", steps=((900.0, _RED),)),
    Panel("Messages in the queues", "Sent to Redis and not yet taken by a worker.",
          {"max by (queue) (afterthought_queue_depth)": "{{queue}}"}),
    Panel("Jobs ended", "A minute, by state.",
          {"sum by (state) (rate(afterthought_jobs_finished_total[5m])) * 60": "{{state}}",
           "sum(rate(afterthought_jobs_sent_total[5m])) * 60": "sent"}),
    Panel("Attempts that are tried again", "Of all attempts in 15 minutes.",
          {"afterthought:job_retries:ratio15m": "retried"}, "percentunit", steps=((0.3, _RED),), low=0, high=1),
    Panel("Dead letters and losses", "In 30 minutes.",
          {"sum by (kind) (increase(afterthought_dead_letters_total[30m]))": "dead: {{kind}}",
           "sum(increase(afterthought_jobs_lost_total[30m]))": "lost and taken back",
           "sum(increase(afterthought_stale_messages_total[30m]))": "stale or duplicate messages",
           "sum(increase(afterthought_broker_failures_total[30m]))": "refused by Redis"}),
    Panel("From claim to end", "Duration of attempts: half and 95 % are faster. Over 30 s is an alert.",
          {"histogram_quantile(0.5, sum by (le) (rate(afterthought_job_duration_seconds_bucket[15m])))": "p50",
           "afterthought:job_duration_seconds:p95_15m": "p95"}, "s", width=12, steps=((30.0, _RED),)),
    Panel("From request to end", "Everything between an ended conversation and its memory, waiting included.",
          {"histogram_quantile(0.5, sum by (le) (rate(afterthought_job_delay_seconds_bucket[15m])))": "p50",
           "histogram_quantile(0.95, sum by (le) (rate(afterthought_job_delay_seconds_bucket[15m])))": "p95"},
          "s", width=12),
)  # fmt: skip

MODELS = (
    Panel("Calls by outcome", "A minute.",
          {"sum by (outcome) (rate(afterthought_model_calls_total[5m])) * 60": "{{outcome}}"}, stacked=True, width=6),
    Panel("Calls without a usable answer", "Of all calls in 15 minutes.",
          {"afterthought:model_call_failures:ratio15m": "failed"}, "percentunit", width=6, steps=((0.2, _RED),),
          low=0, high=1),
    Panel("Jobs done by the built-in agent", "An hour, by kind: the model's answers could not be used.",
          {"sum by (kind) (increase(afterthought_agent_fallbacks_total[1h]))": "{{kind}}"}, stacked=True, width=12),
    Panel("Texts not stored", "An hour, by why: what an agent wrote and the gate refused.",
          {"sum by (reason) (increase(afterthought_texts_refused_total[1h]))": "{{reason}}"}, stacked=True, width=12),
    Panel("Share of them", "Of the jobs that an agent did in an hour.",
          {"afterthought:agent_fallbacks:ratio1h": "built-in"}, "percentunit", width=12, steps=((0.2, _RED),),
          low=0, high=1),
    Panel("Model not asked", "1 while the built-in agent does all jobs, as 18 of the last 20 got nothing usable.",
          {"max(afterthought_model_breaker_open)": "not asked"}, steps=((0.5, _RED),), width=6, low=0, high=1),
    Panel("Tokens", "A minute, by direction.",
          {"sum by (direction, agent) (rate(afterthought_model_tokens_total[5m])) * 60": "{{direction}} {{agent}}"},
          width=6),
    Panel("Duration of calls", "95 % are faster.",
          {"histogram_quantile(0.95, sum by (kind, le) (rate(afterthought_model_call_duration_seconds_bucket[15m])))":
           "{{kind}}"}, "s", width=6),
)  # fmt: skip

THINKING = (
    Panel("Turns by outcome", "A minute: what came of the loop's thinking.",
          {"sum by (outcome) (rate(afterthought_thinking_turns_total[5m])) * 60": "{{outcome}}"},
          stacked=True, width=6),
    Panel("Turns without an answer", "Of the turns about a waiting message in 15 minutes; a review has none to give.",
          {"afterthought:thinking_failures:ratio15m": "failed"}, "percentunit", width=6, steps=((0.5, _RED),),
          low=0, high=1),
    Panel("Tool calls that were not carried out", "An hour, by why.",
          {'sum by (outcome) (increase(afterthought_tool_calls_total{outcome!="carried_out"}[1h]))': "{{outcome}}"},
          stacked=True, width=6),
    Panel("Answers", "An hour: sent, drafted for approval, rejected.",
          {"sum by (state) (increase(afterthought_answers_total[1h]))": "{{state}}"}, stacked=True, width=6),
    Panel("Turns by focus", "A minute: what the loop attended to.",
          {"sum by (focus) (rate(afterthought_thinking_turns_total[5m])) * 60": "{{focus}}"}, stacked=True, width=6),
    Panel("From message to answer", "Half and 95 % are faster.",
          {"histogram_quantile(0.5, sum by (le) (rate(afterthought_answer_delay_seconds_bucket[15m])))": "p50",
           "histogram_quantile(0.95, sum by (le) (rate(afterthought_answer_delay_seconds_bucket[15m])))": "p95"},
          "s", width=6),
    Panel("Unanswered conversations", "Open ones in which a user's message waits, whoever is to answer it.",
          {"max(afterthought_unanswered_conversations)": "unanswered"}, width=6),
    Panel("Age of the oldest unanswered", "Of the messages that the loop is to answer; over ten minutes is an alert.",
          {"max(afterthought_oldest_unanswered_seconds)": "oldest"}, "s", width=6, steps=((600.0, _RED),)),
    Panel("Conversation budgets", "Open conversations with an energy budget, by where they stand.",
          {"max by (status) (afterthought_conversation_budgets)": "{{status}}"}, stacked=True, width=6),
)  # fmt: skip

EVENTS = (
    Panel("Events by kind", "A minute: what apps can hear of.",
          {"sum by (kind) (rate(afterthought_events_placed_total[5m])) * 60": "{{kind}}"}, stacked=True, width=6),
    Panel("Open streams", "Live streams and long polls, over all loops.",
          {"sum(afterthought_streams_open)": "open"}, width=6),
    Panel("Webhook deliveries", "A minute, by how attempts went.",
          {"sum by (outcome) (rate(afterthought_webhook_deliveries_total[5m])) * 60": "{{outcome}}"},
          stacked=True, width=6),
    Panel("Age of the oldest unheard event", "From commit until listeners can hear of it; over a minute is an alert.",
          {"max(afterthought_unplaced_event_seconds)": "oldest"}, "s", width=6, steps=((60.0, _RED),)),
    Panel("What went with age", "A minute: rows that went, were folded into sums or lost their text.",
          {"sum by (rows) (rate(afterthought_rows_forgotten_total[1h])) * 60": "{{rows}}"}, stacked=True, width=24),
)  # fmt: skip

FACTS = (
    Panel("Facts", "That stand, over all apps, by category.",
          {'sum by (category) (afterthought_facts{state="standing"})': "{{category}}"}, stacked=True, width=6),
    Panel("Learned, merged, replaced", "An hour: new facts, repeated ones, contradicted ones.",
          {"sum(increase(afterthought_facts_learned_total[1h]))": "learned",
           "sum(increase(afterthought_fact_merges_total[1h]))": "merged",
           "sum(increase(afterthought_fact_conflicts_total[1h]))": "replaced"}, width=6),
    Panel("Removed", "An hour, by why.",
          {"sum by (reason) (increase(afterthought_facts_removed_total[1h]))": "{{reason}}"}, stacked=True, width=6),
    Panel("Extraction lag", "From a user's message to its facts, p50 and p95; over 30 minutes is an alert.",
          {"histogram_quantile(0.5, sum by (le) (increase(afterthought_extraction_lag_seconds_bucket[30m])))": "p50",
           "histogram_quantile(0.95, sum by (le) (increase(afterthought_extraction_lag_seconds_bucket[30m])))": "p95"},
          "s", width=6, steps=((1800.0, _RED),)),
    Panel("Window used", "Share of the window that contexts fill, p50 and p95.",
          {"histogram_quantile(0.5, sum by (le) (increase(afterthought_context_used_ratio_bucket[15m])))": "p50",
           "histogram_quantile(0.95, sum by (le) (increase(afterthought_context_used_ratio_bucket[15m])))": "p95"},
          "percentunit", width=6, low=0, high=1),
    Panel("Compaction of contexts", "An hour, by the stage taken.",
          {"sum by (stage) (increase(afterthought_context_stages_total[1h]))": "{{stage}}"}, stacked=True, width=6),
    Panel("Missing parts and vectors", "In ten minutes: contexts without a part, texts without a vector.",
          {"sum by (part) (increase(afterthought_context_parts_missing_total[10m]))": "{{part}}",
           "sum(increase(afterthought_embedding_failures_total[10m]))": "vectors"}, width=6, steps=((0.5, _RED),)),
)  # fmt: skip

_SEARCHED = 'afterthought_search_duration_seconds_bucket{stage="total"}'
RETRIEVAL = (
    Panel("Retrievals", "A minute, by what they were for and whether they found anything.",
          {"sum by (asker, found) (rate(afterthought_searches_total[5m])) * 60": "{{asker}}, found {{found}}"},
          stacked=True, width=6),
    Panel("Duration of retrievals", "p50 and p95; over 0.2 seconds is an alert.",
          {f"histogram_quantile({quantile}, sum by (le) (rate({_SEARCHED}[5m])))": name
           for name, quantile in (("p50", 0.5), ("p95", 0.95))}, "s", width=6, steps=((0.2, _RED),)),
    Panel("Duration by stage", "95 % are faster.",
          {"histogram_quantile(0.95, sum by (le, stage) (rate(afterthought_search_duration_seconds_bucket[5m])))":
           "{{stage}}"}, "s", width=6),
    Panel("Done without", "Retrievals in ten minutes that lacked words, vectors or the query's own.",
          {"sum by (part) (increase(afterthought_searches_degraded_total[10m]))": "{{part}}"}, width=6,
          steps=((0.5, _RED),)),
    Panel("Vectors", "Messages that wait for theirs, and those that got them in an hour.",
          {"max(afterthought_unembedded_messages)": "waiting",
           "sum(increase(afterthought_messages_embedded_total[1h]))": "made"}, width=6),
    Panel("Back-fill", "Messages brought into the indexes in an hour, and those left without words.",
          {"sum by (index) (increase(afterthought_messages_filled_in_total[1h]))": "{{index}}",
           "sum(increase(afterthought_index_failures_total[1h]))": "without words"}, width=6),
    Panel("Word index", "Whether it is there.", {"min(afterthought_word_index_present)": "there"}, width=6,
          steps=_DOWN_IS_RED, low=0, high=1),
    Panel("Summaries and profiles", "An hour: summaries made, profiles used and withheld.",
          {"sum(increase(afterthought_summaries_made_total[1h]))": "summaries",
           "sum by (outcome) (increase(afterthought_profile_gate_total[1h]))": "profile {{outcome}}"}, width=6),
    Panel("Search memory", "What the vectors of searched apps take in the loop.",
          {"max(afterthought_search_cache_bytes)": "bytes"}, "bytes", width=6),
)  # fmt: skip

SESSIONS = (
    Panel("Sessions taken in", "An hour, by where from; refused files are an alert.",
          {"sum by (source) (increase(afterthought_sessions_registered_total[1h]))": "{{source}}",
           "sum(increase(afterthought_session_files_refused_total[1h]))": "refused"}, width=6, steps=((0.5, _RED),)),
    Panel("Versions and compositions", "An hour: made, and versions removed by what for.",
          {"sum by (agent) (increase(afterthought_sessions_compressed_total[1h]))": "version, {{agent}}",
           "sum(increase(afterthought_contexts_composed_total[1h]))": "composition",
           "sum by (reason) (increase(afterthought_versions_removed_total[1h]))": "removed, {{reason}}"}, width=6),
    Panel("Tokens of compressed sessions", "An hour, before and after.",
          {"sum by (side) (increase(afterthought_session_tokens_total[1h]))": "{{side}}"}, width=6),
    Panel("Marked parts", "In the versions of an hour: kept word for word, and summarised.",
          {"sum by (outcome) (increase(afterthought_markers_decided_total[1h]))": "{{outcome}}"},
          stacked=True, width=6),
    Panel("Store of sessions", "Bytes copied into it and orphans swept from it in an hour.",
          {"sum(increase(afterthought_session_bytes_synced_total[1h]))": "bytes copied",
           "sum(increase(afterthought_session_files_swept_total[1h]))": "orphans"}, width=6),
    Panel("Registered", "Sessions of all apps, and their versions by where they stand.",
          {"max(afterthought_recorded_sessions)": "sessions",
           "max by (state) (afterthought_session_versions)": "versions, {{state}}"}, width=6),
    Panel("Size of the originals", "What the copies take in the store.",
          {"max(afterthought_recorded_session_bytes)": "bytes"}, "bytes", width=6),
    Panel("Semantic memories", "An hour: proposed, by who.",
          {"sum by (agent) (increase(afterthought_patterns_learnt_total[1h]))": "{{agent}}"}, width=6),
)  # fmt: skip

HTTP = (
    Panel("Requests by status", "A second.",
          {"sum by (status) (rate(afterthought_http_requests_total[5m]))": "{{status}}"}, "reqps", stacked=True),
    Panel("Failing requests", "Share answered with a 5xx in 5 minutes, readiness probes left out.",
          {"afterthought:http_errors:ratio5m": "5xx"}, "percentunit", steps=((0.05, _RED),), low=0, high=1),
    Panel("Too much for one app", "A second, by why: too many in flight, no turn in time, or left while waiting.",
          {"sum by (why) (rate(afterthought_http_refused_total[5m]))": "{{why}}"}, "reqps"),
    Panel("Duration by route", "95 % are faster; over half a second is an alert.",
          {"afterthought:http_request_seconds:p95_5m": "{{route}}"}, "s", steps=((0.5, _RED),)),
)  # fmt: skip

_OF_APP = '{app="$app"}'
APP_ROW = "App $app"
"""Title of the row that is there once for each app that is chosen."""
APP = (
    Panel("Energy of the app", "Spent in the hour before, by kind of work.",
          {f"max by (kind) (afterthought_app_energy_spent_units{_OF_APP})": "{{kind}}"}, stacked=True),
    Panel("Unfinished jobs of the app", "By state; deferred ones wait for energy, a budget or the model's server.",
          {f"max by (state) (afterthought_app_jobs{_OF_APP})": "{{state}}"}, stacked=True),
    Panel("Oldest waiting job of the app", "Its age, whatever it waits for.",
          {f"max(afterthought_app_oldest_waiting_job_seconds{_OF_APP})": "oldest"}, "s", steps=((900.0, _ORANGE),)),
    Panel("Compactions of the app", "Of the 24 hours before, by outcome.",
          {f"max by (outcome) (afterthought_app_compactions{_OF_APP})": "{{outcome}}"}, stacked=True, width=12),
    Panel("Memories and facts of the app", "That stand.",
          {f"max(afterthought_app_memories{_OF_APP})": "memories", f"max(afterthought_app_facts{_OF_APP})": "facts"},
          width=12),
)  # fmt: skip

ROWS = {
    "Health": HEALTH,
    "Energy": ENERGY,
    "Memories and compaction": MEMORIES,
    "Jobs and queues": JOBS,
    "Model calls and tokens": MODELS,
    "Thinking": THINKING,
    "Facts and contexts": FACTS,
    "Retrieval, summaries, profiles": RETRIEVAL,
    "Recorded sessions": SESSIONS,
    "Events and webhooks": EVENTS,
    "HTTP": HTTP,
}


def dashboard() -> str:
    """Return the dashboard as Grafana reads it."""
    board = {
        "uid": "afterthought",
        "title": "Afterthought",
        "description": "Generated by `python -m ops.reference`. What to do about an alert: ops/runbook.md.",
        "tags": ["afterthought"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "30s",
        "timezone": "utc",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source_variable(), _app_variable()]},
        "annotations": {"list": []},
        "panels": list(_laid_out()),
    }
    return json.dumps(board, indent=1) + "\n"


def _source_variable() -> dict[str, Any]:
    return {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0,
            "current": {"text": "Prometheus", "value": "afterthought-prometheus"}}  # fmt: skip


def _app_variable() -> dict[str, Any]:
    """The apps that the metrics name at the end of the time shown."""
    query = "label_values(afterthought_app_memories, app)"
    return {"name": "app", "label": "Apps", "type": "query", "datasource": _SOURCE, "definition": query,
            "query": {"query": query, "refId": "apps"}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True,
            "current": {"text": ["All"], "value": ["$__all"]}, "options": [], "regex": "", "hide": 0}  # fmt: skip


def _laid_out() -> Iterator[dict[str, Any]]:
    """Place the rows below each other: the first is open, the others are folded and hold their panels."""
    numbers, y = count(1), 0
    for title, panels in {**ROWS, APP_ROW: APP}.items():
        row = {"id": next(numbers), "type": "row", "title": title, "gridPos": {"x": 0, "y": y, "w": _COLUMNS, "h": 1}}
        placed = list(_placed(panels, y + 1, numbers))
        if y == 0:
            yield row | {"collapsed": False, "panels": []}
            yield from placed
            y = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in placed)
        else:
            repeated = {"repeat": "app"} if title == APP_ROW else {}
            yield row | {"collapsed": True, "panels": placed} | repeated
            y += 1


def _placed(panels: Sequence[Panel], y: int, numbers: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Place panels from left to right, and on a new line where one does not fit."""
    x, tallest = 0, 0
    for panel in panels:
        if x + panel.width > _COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        height = _HEIGHTS[panel.kind]
        yield _panel(panel, next(numbers)) | {"gridPos": {"x": x, "y": y, "w": panel.width, "h": height}}
        x, tallest = x + panel.width, max(tallest, height)


def _panel(panel: Panel, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "targets": [_target(place, expr, legend) for place, (expr, legend) in enumerate(panel.queries.items())],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _STAT_OPTIONS if panel.kind == "stat" else _SERIES_OPTIONS,
    }


_STAT_OPTIONS = {"colorMode": "value", "graphMode": "none", "textMode": "auto",
                 "reduceOptions": {"calcs": ["lastNotNull"], "values": False, "fields": ""}}  # fmt: skip
_SERIES_OPTIONS = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                   "tooltip": {"mode": "multi", "sort": "desc"}}  # fmt: skip


def _target(place: int, expr: str, legend: str) -> dict[str, Any]:
    target = {"refId": chr(ord("A") + place), "expr": expr, "datasource": _SOURCE}
    if legend:
        target["legendFormat"] = legend
    elif "by (version)" in expr:
        target["legendFormat"] = "{{version}}"
    return target


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": _steps(panel)}}
    if panel.low is not None:
        defaults["min"] = panel.low
    if panel.high is not None:
        defaults["max"] = panel.high
    if panel.kind == "timeseries":
        defaults["custom"] = _drawing(panel)
    return defaults


def _steps(panel: Panel) -> list[dict[str, Any]]:
    steps = [{"value": None if value == float("-inf") else value, "color": color} for value, color in panel.steps]
    return steps if steps and steps[0]["value"] is None else [{"value": None, "color": _GREEN}, *steps]


def _drawing(panel: Panel) -> dict[str, Any]:
    return {
        "lineWidth": 1,
        "fillOpacity": 30 if panel.stacked else 8,
        "showPoints": "never",
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "line" if panel.steps else "off"},
    }

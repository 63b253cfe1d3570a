"""Ids of the known causes that a rule may name. They are file stems in `rules/causes/` and appear in JSON output: more may be added, none renamed."""

from __future__ import annotations

INNOCENT_CAUSES: frozenset[str] = frozenset(  # explain a finding away: nothing is wrong with the server
    {
        "client_cancelled",
        "client_exceeds_window",
        "logging_gap",
        "probe_or_benchmark_traffic",
        "single_client_pattern",
        "think_tag_kept_on_purpose",
    }
)

CAUSE_IDS: frozenset[str] = INNOCENT_CAUSES | {
    "answer_classed_as_reasoning",
    "capacity_exhausted",
    "concurrency_limited_kv_idle",
    "context_window_full",
    "corruption_under_concurrency",
    "default_max_tokens",
    "detokenizer_splits_characters",
    "empty_json_schema",
    "end_of_turn_token_missing",
    "engine_death",
    "gateway_stuck",
    "harmony_not_parsed",
    "hidden_tool_call_truncation",
    "immediate_end_token",
    "invisible_tokens_after_answer",
    "kv_reuse_corruption",
    "marker_inside_tool_call",
    "model_switches_language",
    "nan_logits",
    "poisoned_session_or_prefix",
    "preemption_by_recompute",
    "prefix_cache_disabled",
    "prefix_cache_without_hits",
    "probe_shares_queue",
    "reasoning_ate_token_limit",
    "reasoning_parser_missing",
    "release_regression",
    "sampling_or_quantization_loop",
    "scale_down_abort",
    "single_pod_unhealthy",
    "stop_string_in_reasoning",
    "text_dropped_by_parser",
    "thinking_budget_not_enforced",
    "thought_channel_unclosed",
    "time_limit_in_front",
    "tool_call_not_parsed",
    "unknown",
    "whitespace_in_json_grammar",
}

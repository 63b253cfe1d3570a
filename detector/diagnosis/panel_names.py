"""Names of the metric signals whose Grafana panel a rule may ask for, with what such a panel plots."""

from __future__ import annotations

PANEL_NAMES: dict[str, str] = {
    "e2e_latency": "time from arrival to the last token",
    "finish_reason": "finished requests by finish reason",
    "kv_cache_usage": "share of the KV cache held by requests",
    "preemptions": "requests thrown out of the KV cache and recomputed",
    "prefix_cache_hit_rate": "prompt tokens served from the prefix cache",
    "queue_time": "time between arrival and scheduling",
    "requests_running": "requests in the engine's batch",
    "requests_waiting": "requests that wait to be scheduled",
    "spec_decode_acceptance": "draft tokens that speculative decoding accepted",
    "time_per_output_token": "time between two tokens of an answer",
    "token_throughput": "prompt and generated tokens per second",
    "ttft": "time to first token",
}

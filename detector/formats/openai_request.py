"""A request body of the OpenAI-shaped APIs (and the engines' native ones) as columns of the record.

Options are met at the top, in `extra_body`, `sampling_params` (SGLang native), `parameters` (TGI), `options` (Ollama) and `chat_template_kwargs`. Only what
the body says is returned: a key that is missing is not known, whatever an engine's default may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from detector.formats.values import count, decoded, flag, mapping, number, text

_LAYERS = ("extra_body", "sampling_params", "parameters", "options", "generation_config", "generationConfig")
_CAPS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens", "n_predict", "num_predict", "maxOutputTokens", "max_tokens_to_sample")
_BUDGETS = (
    "thinking_token_budget",
    "thinking_budget",
    "thinking_budget_tokens",
    "budget_tokens",
    "max_thinking_tokens",
    "max_think_tokens",
    "max_reasoning_tokens",
    "reasoning_budget",
    "reasoning_max_tokens",
    "reasoning_token_budget",
    "thinkingBudget",
)
_BUDGET_HOLDERS = ("chat_template_kwargs", "thinking", "reasoning", "thinking_config", "thinkingConfig", "vllm_xargs", "custom_params", "metadata")
_THINKING = ("enable_thinking", "thinking", "enable_reasoning", "reasoning")
_GUIDED = {
    "guided_json": "json_schema",
    "json_schema": "json_schema",
    "guided_json_object": "json_object",
    "guided_regex": "regex",
    "regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "ebnf": "grammar",
    "grammar": "grammar",
    "structural_tag": "structural_tag",
}
_STRUCTURED = {
    "json": "json_schema",
    "json_object": "json_object",
    "regex": "regex",
    "choice": "choice",
    "grammar": "grammar",
    "structural_tag": "structural_tag",
}
LONGEST_EARLIER = 4000
_GATEWAY_OPTIONS = ("merge_reasoning_content_in_choices",)


def request_columns(body: Any) -> dict[str, Any]:
    """Columns of `Record` that a request body determines; a body that is no object (also JSON in a text) gives none."""
    request = mapping(body)
    if not request:
        return {}
    layers = [request, *(mapping(request[key]) for key in _LAYERS if request.get(key) is not None)]
    columns: dict[str, Any] = {
        "model": text(request.get("model")),
        "max_tokens": _cap(layers),
        "thinking_budget": _budget(layers),
        "temperature": number(_first(layers, ("temperature",))),
        "n": count(_first(layers, ("n",))),
        "stream": flag(request.get("stream")),
        "has_tools": _has_tools(request),
        "enable_thinking": _thinking(layers),
        "include_reasoning": flag(_first(layers, ("include_reasoning",))),
        "ignore_eos": flag(_first(layers, ("ignore_eos",))),
        "min_tokens": count(_first(layers, ("min_tokens", "min_new_tokens"))),
        "skip_special_tokens": flag(_first(layers, ("skip_special_tokens",))),
        "system_text": system_text(request),
        "has_suffix": True if request.get("suffix") else None,
        "user": text(request.get("user")),
        "session": text(request.get("session_id")) or text(mapping(request.get("metadata")).get("session_id")),
    }
    stops = _first(layers, ("stop", "stop_sequences"))
    if stops is not None:
        columns["stop"] = strings(stops)
    columns["last_role"], columns["user_text"] = conversation(request)
    columns["response_format"], columns["schema_is_empty"] = _shape(layers, request)
    options = tuple(name for name in _GATEWAY_OPTIONS for layer in (*layers, mapping(request.get("litellm_params"))) if flag(layer.get(name)))
    columns["gateway_options"] = options or None
    return {name: value for name, value in columns.items() if value is not None}


def conversation_text(content: Any) -> str | None:
    """The text of a message's content: a text, or a list of typed parts whose texts are joined."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, (str, dict))]
        return "\n".join(part for part in parts if isinstance(part, str)) or None
    return None


def _first(layers: Iterable[Mapping[str, Any]], keys: tuple[str, ...]) -> Any:
    for layer in layers:
        for key in keys:
            if layer.get(key) is not None:
                return layer[key]
    return None


def _cap(layers: list[Mapping[str, Any]]) -> int | None:
    """The cap on new tokens. `max_completion_tokens` wins over `max_tokens`, as in vLLM's protocol; negative means no cap (llama.cpp, Ollama)."""
    for layer in layers:
        for key in _CAPS:
            value = layer.get(key)
            if value is not None and (cap := count(value)) is not None:
                return cap
    return None


def _budget(layers: list[Mapping[str, Any]]) -> int | None:
    """The limit on thinking tokens, wherever it stood: a limit in a place that the engine does not read is what a cause is told by."""
    for layer in layers:
        holders = [layer, *(mapping(layer.get(key)) for key in _BUDGET_HOLDERS if layer.get(key) is not None)]
        for holder in holders:
            for key in _BUDGETS:
                value = holder.get(key)
                if value is not None and (budget := count(value)) is not None:
                    return budget
        budget = count(mapping(layer.get("reasoning")).get("max_tokens"))
        if budget is not None:
            return budget
    return None


def _thinking(layers: list[Mapping[str, Any]]) -> bool | None:
    for layer in layers:
        for holder in (mapping(layer.get("chat_template_kwargs")), layer):
            for key in _THINKING:
                value = holder.get(key)
                asked = flag(value)
                if asked is None and isinstance(value, dict):
                    asked = flag(value.get("enabled"))
                    if asked is None:
                        asked = {"enabled": True, "disabled": False}.get(str(value.get("type")))
                    if asked is None and value.get("effort") == "none":
                        asked = False
                if asked is not None:
                    return asked
        if layer.get("reasoning_effort") == "none":
            return False
    return None


def _has_tools(request: Mapping[str, Any]) -> bool | None:
    for key in ("tools", "functions"):
        if key in request:
            offered = decoded(request[key])
            return bool(offered) and request.get("tool_choice") != "none"
    return None


def strings(value: Any) -> tuple[str, ...]:
    """One text, or a list of texts (also a list inside a text) as a tuple."""
    listed = decoded(value)
    if isinstance(listed, list):
        return tuple(entry for entry in listed if isinstance(entry, str))
    return (value,) if isinstance(value, str) else ()


def conversation(request: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Role of the last message, and the text of the last user message (or the prompt of a completion)."""
    messages = decoded(request.get("messages"))
    if not isinstance(messages, list):
        messages = decoded(request.get("input"))  # Responses API: a text or items
    if isinstance(messages, list) and any(isinstance(entry, dict) for entry in messages):
        turns = [entry for entry in messages if isinstance(entry, dict)]
        role = next((turn["role"] for turn in reversed(turns) if isinstance(turn.get("role"), str)), None)
        user = next((turn for turn in reversed(turns) if turn.get("role") == "user"), None)
        return role, conversation_text(user.get("content")) if user else None
    for key in ("prompt", "input", "inputs", "text"):
        prompt = request.get(key)
        if isinstance(prompt, list) and prompt and all(isinstance(entry, str) for entry in prompt):
            prompt = "\n".join(prompt)
        if isinstance(prompt, str):
            return None, prompt
    return None, None


def system_text(request: Mapping[str, Any]) -> str | None:
    """Texts of system and developer messages, of the user's earlier messages, and of `instructions` (Responses API) or `system` (Anthropic).

    What elements an answer should have stands there. Earlier messages of more than `LONGEST_EARLIER` characters are pasted documents, not instructions.
    """
    messages = decoded(request.get("messages"))
    turns = [entry for entry in messages if isinstance(entry, dict)] if isinstance(messages, list) else []
    texts = [conversation_text(turn.get("content")) for turn in turns if turn.get("role") in ("system", "developer")]
    earlier = [conversation_text(turn.get("content")) for turn in turns if turn.get("role") == "user"][:-1]
    texts.extend(part for part in earlier if part and len(part) <= LONGEST_EARLIER)
    texts.extend(conversation_text(request.get(key)) for key in ("instructions", "system"))
    return "\n".join(part for part in texts if part) or None


def _shape(layers: list[Mapping[str, Any]], request: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """What shape the request demanded, and whether a demanded schema allows anything."""
    for layer in layers:
        wanted = layer.get("response_format")
        wanted = wanted if wanted is not None else mapping(layer.get("text")).get("format")  # Responses API: text.format
        if isinstance(wanted, str):
            wanted = {"type": wanted}
        if isinstance(wanted, dict) and isinstance(wanted.get("type"), str):
            holder = wanted.get("json_schema", wanted)
            schema = holder.get("schema", holder.get("schema_")) if isinstance(holder, dict) else None
            return wanted["type"], _allows_anything(schema)
        structured = mapping(layer.get("structured_outputs"))
        for key, name in _STRUCTURED.items():
            if structured.get(key) not in (None, False):
                return name, _allows_anything(structured[key]) if key == "json" else None
        for key, name in _GUIDED.items():
            if layer.get(key) not in (None, False):
                return name, _allows_anything(layer[key]) if name == "json_schema" else None
    if request.get("format") == "json":  # Ollama
        return "json_object", None
    return None, None


def _allows_anything(schema: Any) -> bool | None:
    schema = decoded(schema)
    return schema == {} if isinstance(schema, dict) else None

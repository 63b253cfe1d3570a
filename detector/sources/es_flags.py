"""The optional ingest pipeline: flags that a cluster sets as documents arrive, so that candidates are found without searching text.

A flag is a superset of its signal: a document without it is not flagged by the signal. `deploy/elasticsearch/ingest-pipeline.json` and
`index-template.json` are what `pipeline()` and `template()` give (a test holds them to it). Documents that did not pass the pipeline lack
`detector.pipeline` and stay candidates.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from detector.signals.markers import SPECIAL_CONTAINS, THINK_CONTAINS
from detector.sources.es_fields import Fields
from detector.sources.es_paging import Query, any_of, none_of

FLAGS = "detector.flags"
VERSION_FIELD = "detector.pipeline"
FLAGGED = ("special_token_leak", "think_leak")  # signals whose candidates are found by flag
LOOP = "loop"  # for dashboards and Kibana only: an exact repeat at the answer's end; near repeats need the reading of the text
_ESCAPED = ("\\u003c", "\\u003e")  # `<` and `>` as Go's JSON encoder writes them into bodies kept as text
_LOOP_PIECE, _LOOP_TIMES = 24, 6  # the last 24 characters six times: no prose does that, every exact loop of up to 4 KB does
_LOOP_REACH = 24_576
# Told by what is looked for: a pipeline that was made from other tables looked for other pieces, so its documents stay candidates. A positive short.
VERSION = 1 + crc32("\0".join((*THINK_CONTAINS, "", *SPECIAL_CONTAINS)).encode()) % 32_766

_SCRIPT = """
void collect(def node, List texts, int depth) {
  if (depth > 12 || node == null) { return; }
  if (node instanceof String) { texts.add(node); }
  else if (node instanceof List) { for (def entry : node) { collect(entry, texts, depth + 1); } }
  else if (node instanceof Map) { for (def entry : node.entrySet()) { if (entry.getKey() != 'messages') { collect(entry.getValue(), texts, depth + 1); } } }
}
boolean any(List texts, List pieces) {
  for (def text : texts) { for (def piece : pieces) { if (text.contains(piece)) { return true; } } }
  return false;
}
List texts = new ArrayList();
for (def entry : ctx.entrySet()) {
  String key = entry.getKey();
  if (key != 'request' && key != 'request_body' && !key.startsWith('_') && key != 'detector') { collect(entry.getValue(), texts, 0); }
}
List flags = new ArrayList();
if (any(texts, params.think)) { flags.add('think_leak'); }
if (any(texts, params.special)) { flags.add('special_token_leak'); }
for (def text : texts) {
  int length = text.length();
  if (length < params.piece * params.times) { continue; }
  String tail = text.substring(length - params.piece);
  int seen = 0;
  int at = text.indexOf(tail, length > params.reach ? length - params.reach : 0);
  while (at >= 0 && seen < params.times) { seen++; at = text.indexOf(tail, at + 1); }
  if (seen >= params.times) { flags.add('loop'); break; }
}
ctx.detector = ['pipeline': params.version, 'flags': flags];
"""


def pipeline() -> dict[str, Any]:
    """The ingest pipeline: `PUT _ingest/pipeline/llm-detector`. One painless script, without regular expressions; a failure loses no document."""
    params = {
        "version": VERSION,
        "think": [*THINK_CONTAINS, *_ESCAPED],
        "special": [*SPECIAL_CONTAINS, *_ESCAPED],
        "piece": _LOOP_PIECE,
        "times": _LOOP_TIMES,
        "reach": _LOOP_REACH,
    }
    return {
        "description": "Flags answers that may hold leaked markers or loops, and notes when the document was received (llm-response-detector)",
        "processors": [
            {"script": {"lang": "painless", "source": _SCRIPT.strip(), "params": params, "ignore_failure": True}},
            {"set": {"field": "event.ingested", "value": "{{{_ingest.timestamp}}}", "ignore_failure": True}},
        ],
    }


def template() -> dict[str, Any]:
    """The index template: `PUT _index_template/llm-detector`. Only what counting needs is typed; everything else is mapped as usual."""
    keyword = {"type": "keyword", "ignore_above": 1024}
    return {
        "index_patterns": ["llm-*"],
        "priority": 150,
        "template": {
            "settings": {"index.default_pipeline": "llm-detector"},
            "mappings": {
                "properties": {
                    "@timestamp": {"type": "date"},
                    "deployment": keyword,
                    "pod": keyword,
                    "event": {"properties": {"ingested": {"type": "date"}}},
                    "detector": {"properties": {"flags": keyword, "pipeline": {"type": "short"}}},
                }
            },
        },
    }


def flagged(fields: Fields, signal: str) -> Query | None:
    """Candidates of a signal by flag; None where the log has no flags, or the signal has none."""
    if signal not in FLAGGED or fields.at(FLAGS).kind != "keyword" or fields.at(VERSION_FIELD).kind != "number":
        return None
    # another version of the pipeline looked for other pieces
    return any_of({"term": {FLAGS: signal}}, none_of({"term": {VERSION_FIELD: VERSION}}))

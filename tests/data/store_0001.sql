BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	actor TEXT NOT NULL, 
	action VARCHAR(32) NOT NULL, 
	subject TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE fact (
	name VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE incident (
	id VARCHAR(64) NOT NULL, 
	deployment TEXT, 
	state VARCHAR(16) NOT NULL, 
	severity VARCHAR(16) NOT NULL, 
	since FLOAT NOT NULL, 
	active_at FLOAT NOT NULL, 
	resolved_at FLOAT, 
	body TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "incident" VALUES('efd381400b9bbe80','chat','firing','warning',1800000000.0,1800000000.0,NULL,'{"id": "efd381400b9bbe80", "deployment": "chat", "signals": ["think_leak"], "rules": ["think_tag_leak"], "state": "firing", "severity": "warning", "since": 1800000000.0, "active_at": 1800000000.0, "fired_at": 1800000000.0, "clean_from": null, "blind_since": null, "blind_why": "", "resolved_at": null, "opened": 1, "history": [], "findings": [{"rule": "think_tag_leak", "title": "Thinking markers appear in answers", "severity": "warning", "notify": true, "signal": "think_leak", "labels": {"deployment": "chat", "model": "qwen3-32b"}, "counts": {"flagged": 25, "requests": 1204, "start": 1799999100.0, "end": 1800000000.0}, "interval": [0.014, 0.03], "baseline": {"flagged": 18, "requests": 9021, "start": 1799395200.0, "end": 1799999100.0}, "score": 9.0, "threshold": 3.0, "first": 1799999400.0, "last": 1799999995.0, "firing": [1800000000.0, 1800000000.0], "expected": null, "peak": null, "chronic": false, "trend": [[1, 400], [0, 410], [2, 395], [1, 402], [0, 0], [1, 399], [1, 400], [0, 410], [2, 395], [1, 402], [0, 0], [1, 399], [1, 400], [0, 410], [2, 395], [1, 402], [0, 0], [1, 399], [3, 398], [9, 402], [14, 404], [20, 399], [24, 401], [25, 400]], "subtypes": {"close_tag_in_content": 25}, "also": {}, "slices": [], "request_ids": ["chatcmpl-0000", "chatcmpl-0001", "chatcmpl-0002"], "doc_ids": [], "reasons": [], "meaning": "Answers, tool arguments or function names that hold a reasoning marker (`</think>`, a channel token, a bare `assistantfinal` \u2026) used as markup. Markers that an answer quotes, fences or explains do not count. A healthy deployment has none, so three within six hours are news.", "impact": "Users read the model''s inner monologue or stray tags, callers'' parsers break, and where thinking goes on inside the answer the token limit is spent on it.", "next_steps": ["Last 24 h: the share of leaks by `engine_version` and `pod`. Near 100 % since a rollout: compare the served `--reasoning-parser` with the model''s card.", "The listed requests: is `thinking_budget` set, and does `reasoning` hold text too? Then the engine ends thinking in words that the parser does not know.", "Last 6 h: leaks by `stream` and `has_tools`. In one kind only: the parser of that path is at fault; switch the other on for the worst-hit client.", "Open the upstream reports below for your `engine_version` before you change anything."], "false_positives": [], "causes": [], "panels": ["finish_reason", "spec_decode_acceptance", "e2e_latency"], "references": [], "incident": "a", "excerpt": ""}], "series_seen": 1, "peak_flagged": 25, "acked_by": null, "acked_at": null, "snoozed_until": null, "merged_into": null, "told_at": 1800000000.0, "closed_by": null, "answers": [], "untold": ""}');
CREATE TABLE ledger_minute (
	source VARCHAR(64) NOT NULL, 
	minute BIGINT NOT NULL, 
	settled INTEGER NOT NULL, 
	counts TEXT NOT NULL, 
	evidence TEXT NOT NULL, 
	PRIMARY KEY (source, minute)
);
CREATE TABLE message (
	id INTEGER NOT NULL, 
	"key" VARCHAR(160) NOT NULL, 
	receiver VARCHAR(64) NOT NULL, 
	incident_id VARCHAR(64), 
	kind VARCHAR(32) NOT NULL, 
	body TEXT NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	created_at FLOAT NOT NULL, 
	attempts INTEGER NOT NULL, 
	next_at FLOAT NOT NULL, 
	sent_at FLOAT, 
	error TEXT, 
	PRIMARY KEY (id), 
	CONSTRAINT message_once UNIQUE (receiver, "key")
);
INSERT INTO "message" VALUES(1,'k','slack','efd381400b9bbe80','fired','{"kind": "fired", "reason": "x", "at": 1800000000.0, "incident": {"id": "efd381400b9bbe80", "deployment": "chat", "signals": ["think_leak"], "rules": ["think_tag_leak"], "state": "firing", "severity": "warning", "since": 1800000000.0, "active_at": 1800000000.0, "fired_at": 1800000000.0, "clean_from": null, "blind_since": null, "blind_why": "", "resolved_at": null, "opened": 1, "history": [], "findings": [{"rule": "think_tag_leak", "title": "Thinking markers appear in answers", "severity": "warning", "notify": true, "signal": "think_leak", "labels": {"deployment": "chat", "model": "qwen3-32b"}, "counts": {"flagged": 25, "requests": 1204, "start": 1799999100.0, "end": 1800000000.0}, "interval": [0.014, 0.03], "baseline": {"flagged": 18, "requests": 9021, "start": 1799395200.0, "end": 1799999100.0}, "score": 9.0, "threshold": 3.0, "first": 1799999400.0, "last": 1799999995.0, "firing": [1800000000.0, 1800000000.0], "expected": null, "peak": null, "chronic": false, "trend": [[1, 400], [0, 410], [2, 395], [1, 402], [0, 0], [1, 399], [1, 400], [0, 410], [2, 395], [1, 402], [0, 0], [1, 399], [1, 400], [0, 410], [2, 395], [1, 402], [0, 0], [1, 399], [3, 398], [9, 402], [14, 404], [20, 399], [24, 401], [25, 400]], "subtypes": {"close_tag_in_content": 25}, "also": {}, "slices": [], "request_ids": ["chatcmpl-0000", "chatcmpl-0001", "chatcmpl-0002"], "doc_ids": [], "reasons": [], "meaning": "Answers, tool arguments or function names that hold a reasoning marker (`</think>`, a channel token, a bare `assistantfinal` \u2026) used as markup. Markers that an answer quotes, fences or explains do not count. A healthy deployment has none, so three within six hours are news.", "impact": "Users read the model''s inner monologue or stray tags, callers'' parsers break, and where thinking goes on inside the answer the token limit is spent on it.", "next_steps": ["Last 24 h: the share of leaks by `engine_version` and `pod`. Near 100 % since a rollout: compare the served `--reasoning-parser` with the model''s card.", "The listed requests: is `thinking_budget` set, and does `reasoning` hold text too? Then the engine ends thinking in words that the parser does not know.", "Last 6 h: leaks by `stream` and `has_tools`. In one kind only: the parser of that path is at fault; switch the other on for the worst-hit client.", "Open the upstream reports below for your `engine_version` before you change anything."], "false_positives": [], "causes": [], "panels": ["finish_reason", "spec_decode_acceptance", "e2e_latency"], "references": [], "incident": "a", "excerpt": ""}], "series_seen": 1, "peak_flagged": 25, "acked_by": null, "acked_at": null, "snoozed_until": null, "merged_into": null, "told_at": 1800000000.0, "closed_by": null, "answers": [], "untold": ""}, "links": [], "storm": [], "excerpts": {}, "channel": null, "owner": null}','waiting',1800000000.0,1,1800000000.0,NULL,'x');
CREATE TABLE silence (
	id INTEGER NOT NULL, 
	matchers TEXT NOT NULL, 
	comment TEXT NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at FLOAT NOT NULL, 
	starts_at FLOAT NOT NULL, 
	expires_at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE thread (
	receiver VARCHAR(64) NOT NULL, 
	incident_id VARCHAR(64) NOT NULL, 
	reference TEXT NOT NULL, 
	updated_at FLOAT NOT NULL, 
	PRIMARY KEY (receiver, incident_id)
);
INSERT INTO "thread" VALUES('slack','efd381400b9bbe80','{"channel": "C0123456789", "ts": "1.2", "key": "k.parent"}',1800000000.0);
CREATE INDEX message_waiting ON message (state, next_at);
CREATE INDEX ledger_by_minute ON ledger_minute (minute);
COMMIT;

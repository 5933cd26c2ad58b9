-- Layout 0: an episode as one JSON text, no version.
BEGIN TRANSACTION;
CREATE TABLE episodes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (namespace, run, step, attempt)
);
INSERT INTO "episodes" VALUES(1,'default','0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17','S1',1,'{"schema_version": 1, "namespace": "default", "run": "0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17", "step": "S1", "attempt": 1, "objective": "Tell a child what a \u00ab tide \u00bb is", "task_type": "doc/text", "output": "text", "prompt": "Explain tides to a child of 7 \u00b7 in 120 words", "persona": "teacher", "tier": "worker", "model": "embedded", "revision": 0, "cause": null, "decision": "ESCALATE", "rule": "LOGIC/1", "succeeded": false, "category": "LOGIC", "error": "length: 180 words, and 120 are allowed", "gates": [{"gate": "form", "status": "passed", "category": null}, {"gate": "length", "status": "failed", "category": "LOGIC"}], "input_tokens": 91, "output_tokens": 240, "started_at": 1790000000.25, "ended_at": 1790000003.5, "duration_s": 3.125, "reward": -0.6, "terms": {"failure": -0.5, "gates": -0.1}, "upstream": [], "downstream": ["S2"], "used": [], "artifact": "abababababababababababababababababababababababababababababababab", "excerpt": "Tides are when the sea \u2026"}');
INSERT INTO "episodes" VALUES(2,'default','0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17','S1',2,'{"schema_version": 1, "namespace": "default", "run": "0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17", "step": "S1", "attempt": 2, "objective": "Tell a child what a \u00ab tide \u00bb is", "task_type": "doc/text", "output": "text", "prompt": "Explain tides to a child of 7 \u00b7 in 120 words", "persona": "teacher", "tier": "coder", "model": "embedded", "revision": 0, "cause": "ESCALATE", "decision": null, "rule": "LOGIC/1", "succeeded": true, "category": null, "error": "", "gates": [], "input_tokens": 91, "output_tokens": 240, "started_at": 1790000000.25, "ended_at": 1790000003.5, "duration_s": 3.125, "reward": 0.85, "terms": {"success": 1.0, "escalation": -0.15}, "upstream": [], "downstream": ["S2"], "used": [["an-earlier-run", "S3", 1]], "artifact": "abababababababababababababababababababababababababababababababab", "excerpt": "Tides are when the sea \u2026"}');
INSERT INTO "episodes" VALUES(4,'other','0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17','S1',1,'{"schema_version": 1, "namespace": "other", "run": "0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17", "step": "S1", "attempt": 1, "objective": "Tell a child what a \u00ab tide \u00bb is", "task_type": "doc/text", "output": "text", "prompt": "Sum up", "persona": "teacher", "tier": "worker", "model": "embedded", "revision": 0, "cause": null, "decision": "ESCALATE", "rule": "LOGIC/1", "succeeded": false, "category": "LOGIC", "error": "length: 180 words, and 120 are allowed", "gates": [{"gate": "form", "status": "passed", "category": null}, {"gate": "length", "status": "failed", "category": "LOGIC"}], "input_tokens": 91, "output_tokens": 240, "started_at": 1790000000.25, "ended_at": 1790000003.5, "duration_s": 3.125, "reward": -0.6, "terms": {"failure": -0.5, "gates": -0.1}, "upstream": ["S1"], "downstream": ["S2"], "used": [], "artifact": "abababababababababababababababababababababababababababababababab", "excerpt": "Tides are when the sea \u2026"}');
CREATE TABLE vectors (
    embedder TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (embedder, digest)
) WITHOUT ROWID;
INSERT INTO "vectors" VALUES('llama 1','209b00abb8bf7afd471c76552d417ea4e9acb986d01451fa897339e6bcadb942',X'9A99193FCDCC4C3F');
INSERT INTO "vectors" VALUES('other 2','209b00abb8bf7afd471c76552d417ea4e9acb986d01451fa897339e6bcadb942',X'000080BF0000000000000000');
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('episodes',5);
COMMIT;

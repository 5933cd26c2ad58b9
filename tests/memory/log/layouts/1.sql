-- Layout 1: a column for each field.
PRAGMA application_id = 1398230321;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE embedders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO "embedders" VALUES(1,'llama 1');
INSERT INTO "embedders" VALUES(2,'other 2');
CREATE TABLE episodes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_version INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    run TEXT NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    objective TEXT NOT NULL,
    task_type TEXT NOT NULL,
    output TEXT NOT NULL,
    prompt TEXT NOT NULL,
    digest BLOB NOT NULL,
    persona TEXT NOT NULL,
    tier TEXT NOT NULL,
    model TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cause TEXT,
    decision TEXT,
    rule TEXT NOT NULL,
    succeeded INTEGER NOT NULL,
    category TEXT,
    error TEXT NOT NULL,
    gates TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    duration_s REAL NOT NULL,
    reward REAL NOT NULL,
    terms TEXT NOT NULL,
    upstream TEXT NOT NULL,
    downstream TEXT NOT NULL,
    used TEXT NOT NULL,
    artifact TEXT NOT NULL,
    excerpt TEXT NOT NULL,
    UNIQUE (namespace, run, step, attempt)
);
INSERT INTO "episodes" VALUES(1,1,'default','0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17','S1',1,'Tell a child what a « tide » is','doc/text','text','Explain tides to a child of 7 · in 120 words',X'209B00ABB8BF7AFD471C76552D417EA4E9ACB986D01451FA897339E6BCADB942','teacher','worker','embedded',0,NULL,'ESCALATE','LOGIC/1',0,'LOGIC','length: 180 words, and 120 are allowed','[{"gate":"form","status":"passed"},{"gate":"length","status":"failed","category":"LOGIC"}]',91,240,1790000000.25,1790000003.5,3.125,-0.6,'{"failure":-0.5,"gates":-0.1}','[]','["S2"]','[]','abababababababababababababababababababababababababababababababab','Tides are when the sea …');
INSERT INTO "episodes" VALUES(2,1,'default','0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17','S1',2,'Tell a child what a « tide » is','doc/text','text','Explain tides to a child of 7 · in 120 words',X'209B00ABB8BF7AFD471C76552D417EA4E9ACB986D01451FA897339E6BCADB942','teacher','coder','embedded',0,'ESCALATE',NULL,'LOGIC/1',1,NULL,'','[]',91,240,1790000000.25,1790000003.5,3.125,0.85,'{"success":1.0,"escalation":-0.15}','[]','["S2"]','[["an-earlier-run","S3",1]]','abababababababababababababababababababababababababababababababab','Tides are when the sea …');
INSERT INTO "episodes" VALUES(4,1,'other','0192f0c4-7a41-7d3e-9b1c-2f5d8e6a0b17','S1',1,'Tell a child what a « tide » is','doc/text','text','Sum up',X'1B7FA2CC26D466CED82FE6328130914DC215D27A21B8DF1B76332C2514A1BF95','teacher','worker','embedded',0,NULL,'ESCALATE','LOGIC/1',0,'LOGIC','length: 180 words, and 120 are allowed','[{"gate":"form","status":"passed"},{"gate":"length","status":"failed","category":"LOGIC"}]',91,240,1790000000.25,1790000003.5,3.125,-0.6,'{"failure":-0.5,"gates":-0.1}','["S1"]','["S2"]','[]','abababababababababababababababababababababababababababababababab','Tides are when the sea …');
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('forgotten',1);
CREATE TABLE vectors (
    embedder INTEGER NOT NULL REFERENCES embedders (id),
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (digest, embedder)
);
INSERT INTO "vectors" VALUES(1,X'209B00ABB8BF7AFD471C76552D417EA4E9ACB986D01451FA897339E6BCADB942',X'9A99193FCDCC4C3F');
INSERT INTO "vectors" VALUES(2,X'209B00ABB8BF7AFD471C76552D417EA4E9ACB986D01451FA897339E6BCADB942',X'000080BF0000000000000000');
CREATE INDEX episodes_by_digest ON episodes (digest);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('episodes',5);
COMMIT;

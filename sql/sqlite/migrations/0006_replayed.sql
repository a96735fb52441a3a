-- 0006_replayed: the dead letters of each queue that were replayed, and why they had been dead.

CREATE TABLE {outbox_replayed} (
    seq INTEGER NOT NULL,
    replayed_at INTEGER NOT NULL CHECK (typeof(replayed_at) = 'integer'),
    replayed_by TEXT CHECK (typeof(replayed_by) IN ('text', 'null')),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {outbox_replayed_seq} ON {outbox_replayed} (seq);

CREATE TABLE {inbox_replayed} (
    seq INTEGER NOT NULL,
    replayed_at INTEGER NOT NULL CHECK (typeof(replayed_at) = 'integer'),
    replayed_by TEXT CHECK (typeof(replayed_by) IN ('text', 'null')),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {inbox_replayed_seq} ON {inbox_replayed} (seq);

CREATE TABLE {timer_replayed} (
    seq INTEGER NOT NULL,
    replayed_at INTEGER NOT NULL CHECK (typeof(replayed_at) = 'integer'),
    replayed_by TEXT CHECK (typeof(replayed_by) IN ('text', 'null')),
    attempt INTEGER NOT NULL CHECK (typeof(attempt) = 'integer'),
    finished_at INTEGER NOT NULL CHECK (typeof(finished_at) = 'integer'),
    last_error TEXT CHECK (typeof(last_error) IN ('text', 'null'))
);
CREATE INDEX {timer_replayed_seq} ON {timer_replayed} (seq);

-- 0006_replayed: the dead letters of each queue that were replayed, and why they had been dead.

CREATE TABLE {outbox_replayed} (
    seq bigint NOT NULL,
    replayed_at bigint NOT NULL,
    replayed_by text,
    attempt bigint NOT NULL,
    finished_at bigint NOT NULL,
    last_error text
);
CREATE INDEX {name:outbox_replayed_seq} ON {outbox_replayed} (seq);

CREATE TABLE {inbox_replayed} (
    seq bigint NOT NULL,
    replayed_at bigint NOT NULL,
    replayed_by text,
    attempt bigint NOT NULL,
    finished_at bigint NOT NULL,
    last_error text
);
CREATE INDEX {name:inbox_replayed_seq} ON {inbox_replayed} (seq);

CREATE TABLE {timer_replayed} (
    seq bigint NOT NULL,
    replayed_at bigint NOT NULL,
    replayed_by text,
    attempt bigint NOT NULL,
    finished_at bigint NOT NULL,
    last_error text
);
CREATE INDEX {name:timer_replayed_seq} ON {timer_replayed} (seq);

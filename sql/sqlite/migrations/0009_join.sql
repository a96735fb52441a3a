-- 0009_join: joins, their members, and what is enqueued when they are over.

-- One row a join. status: 0 open, 1 completed, 2 failed, 3 cancelled; it is over when that is not 0.
CREATE TABLE {join} (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    status INTEGER NOT NULL CHECK (status IN (0, 1, 2, 3)),
    expected INTEGER NOT NULL CHECK (typeof(expected) = 'integer' AND expected > 0),
    completed INTEGER NOT NULL CHECK (typeof(completed) = 'integer'),
    failed INTEGER NOT NULL CHECK (typeof(failed) = 'integer'),
    fail_if_any INTEGER NOT NULL CHECK (fail_if_any IN (0, 1)),
    grouping_key TEXT CHECK (typeof(grouping_key) IN ('text', 'null')),
    metadata TEXT CHECK (typeof(metadata) IN ('text', 'null')),
    created_at INTEGER NOT NULL CHECK (typeof(created_at) = 'integer'),
    deadline_at INTEGER CHECK (typeof(deadline_at) IN ('integer', 'null')),
    ended_at INTEGER CHECK (typeof(ended_at) IN ('integer', 'null')),
    reason TEXT CHECK (typeof(reason) IN ('text', 'null')),
    CHECK (completed + failed <= expected)
);
CREATE UNIQUE INDEX {join_id} ON {join} (id);
CREATE INDEX {join_group} ON {join} (grouping_key, seq) WHERE grouping_key IS NOT NULL;
CREATE INDEX {join_deadline} ON {join} (deadline_at) WHERE status = 0 AND deadline_at IS NOT NULL;
CREATE INDEX {join_ended} ON {join} (ended_at) WHERE ended_at IS NOT NULL;

-- What is enqueued when a join is over with this status: 1 or 2. Its id is known from the start, and so it
-- cannot be there twice.
CREATE TABLE {join_next} (
    join_seq INTEGER NOT NULL,
    status INTEGER NOT NULL CHECK (status IN (1, 2)),
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    payload TEXT NOT NULL CHECK (typeof(payload) = 'text'),
    headers TEXT CHECK (typeof(headers) IN ('text', 'null')),
    correlation_id TEXT CHECK (typeof(correlation_id) IN ('text', 'null')),
    ordering_key TEXT CHECK (typeof(ordering_key) IN ('text', 'null')),
    PRIMARY KEY (join_seq, status)
);

-- One row for each message and join that it is a member of. status: 0 not counted, 1 completed, 2 failed.
CREATE TABLE {join_member} (
    join_seq INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    status INTEGER NOT NULL CHECK (status IN (0, 1, 2)),
    attached_at INTEGER NOT NULL CHECK (typeof(attached_at) = 'integer'),
    counted_at INTEGER CHECK (typeof(counted_at) IN ('integer', 'null')),
    PRIMARY KEY (join_seq, seq)
) WITHOUT ROWID;
CREATE INDEX {join_member_seq} ON {join_member} (seq);

-- The messages of the topic join.wait that wait for a join.
CREATE TABLE {join_wait} (
    join_seq INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (join_seq, seq)
) WITHOUT ROWID;

-- A message that is finished counts where it is a member. Without members this costs one look into an index.
CREATE TRIGGER {outbox_joined} AFTER INSERT ON {outbox_finished}
WHEN EXISTS (SELECT 1 FROM {join_member} AS m WHERE m.seq = NEW.seq)
BEGIN
    UPDATE {join_member} SET status = CASE NEW.status WHEN 2 THEN 1 ELSE 2 END, counted_at = NEW.finished_at
    WHERE seq = NEW.seq AND status = 0
      AND EXISTS (SELECT 1 FROM {join} AS j WHERE j.seq = {join_member}.join_seq AND j.status = 0);
END;

-- What counts is added up, and the last one ends the join.
CREATE TRIGGER {join_counted} AFTER UPDATE OF status ON {join_member} WHEN OLD.status = 0 AND NEW.status <> 0
BEGIN
    UPDATE {join}
    SET completed = completed + (NEW.status = 1), failed = failed + (NEW.status = 2),
        status = CASE WHEN completed + failed + 1 < expected THEN 0
                      WHEN fail_if_any = 1 AND failed + (NEW.status = 2) > 0 THEN 2 ELSE 1 END,
        ended_at = CASE WHEN completed + failed + 1 < expected THEN NULL ELSE NEW.counted_at END
    WHERE seq = NEW.join_seq AND status = 0;
END;

-- However a join ends: what is to be enqueued then is, and those that wait for it wait no more.
CREATE TRIGGER {join_over} AFTER UPDATE OF status ON {join} WHEN OLD.status = 0 AND NEW.status <> 0
BEGIN
    INSERT INTO {outbox_new} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at)
    SELECT n.id, n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key, NEW.ended_at, NEW.ended_at
    FROM {join_next} AS n
    WHERE n.join_seq = NEW.seq AND n.status = NEW.status;
    UPDATE {outbox_work} SET at_once = 1, next_attempt_at = NEW.ended_at
    WHERE status <> 1 AND seq IN (SELECT w.seq FROM {join_wait} AS w WHERE w.join_seq = NEW.seq);
    DELETE FROM {join_wait} WHERE join_seq = NEW.seq;
END;

-- What is known of a join goes with it.
CREATE TRIGGER {join_gone} AFTER DELETE ON {join}
BEGIN
    DELETE FROM {join_next} WHERE join_seq = OLD.seq;
    DELETE FROM {join_member} WHERE join_seq = OLD.seq;
    DELETE FROM {join_wait} WHERE join_seq = OLD.seq;
END;

-- What statements insert into: where triggers are switched off the database refuses, and nothing is done by half.
CREATE VIEW {join_new} AS
SELECT id, expected, fail_if_any, grouping_key, metadata, created_at, deadline_at, NULL AS next_ids, NULL AS nexts
FROM {join};
CREATE TRIGGER {join_started} INSTEAD OF INSERT ON {join_new}
BEGIN
    INSERT INTO {join} (id, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at)
    VALUES (NEW.id, 0, NEW.expected, 0, 0, NEW.fail_if_any, NEW.grouping_key, NEW.metadata, NEW.created_at, NEW.deadline_at);
    INSERT INTO {join_next} (join_seq, status, id, topic, payload, headers, correlation_id, ordering_key)
    SELECT j.seq, json_extract(n.value, '$.status'), substr(NEW.next_ids, json_extract(n.value, '$.status') * 16 - 15, 16),
           json_extract(n.value, '$.topic'), json_extract(n.value, '$.payload'), json_extract(n.value, '$.headers'),
           json_extract(n.value, '$.correlation_id'), json_extract(n.value, '$.ordering_key')
    FROM {join} AS j CROSS JOIN json_each(NEW.nexts) AS n
    WHERE j.id = NEW.id;
END;

CREATE VIEW {join_add} AS
SELECT join_seq, seq, id, attached_at FROM {join_member};
CREATE TRIGGER {join_added} INSTEAD OF INSERT ON {join_add}
BEGIN
    INSERT INTO {join_member} (join_seq, seq, id, status, attached_at)
    VALUES (NEW.join_seq, NEW.seq, NEW.id, 0, NEW.attached_at)
    ON CONFLICT (join_seq, seq) DO NOTHING;
    -- one that is finished already counts at once
    UPDATE {join_member}
    SET status = (SELECT CASE f.status WHEN 2 THEN 1 ELSE 2 END FROM {outbox_finished} AS f WHERE f.seq = NEW.seq),
        counted_at = NEW.attached_at
    WHERE join_seq = NEW.join_seq AND seq = NEW.seq AND status = 0
      AND EXISTS (SELECT 1 FROM {outbox_finished} AS f WHERE f.seq = NEW.seq)
      AND EXISTS (SELECT 1 FROM {join} AS j WHERE j.seq = NEW.join_seq AND j.status = 0);
END;

CREATE VIEW {join_count} AS
SELECT join_seq, seq, status, counted_at FROM {join_member};
CREATE TRIGGER {join_reported} INSTEAD OF INSERT ON {join_count}
BEGIN
    UPDATE {join_member} SET status = NEW.status, counted_at = NEW.counted_at
    WHERE join_seq = NEW.join_seq AND seq = NEW.seq AND status = 0
      AND EXISTS (SELECT 1 FROM {join} AS j WHERE j.seq = NEW.join_seq AND j.status = 0);
END;

CREATE VIEW {join_end} AS
SELECT seq, status, ended_at, reason FROM {join};
CREATE TRIGGER {join_ended_so} INSTEAD OF INSERT ON {join_end}
BEGIN
    UPDATE {join} SET status = NEW.status, ended_at = NEW.ended_at, reason = NEW.reason
    WHERE seq = NEW.seq AND status = 0;
END;

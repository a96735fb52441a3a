-- 0008_numbers: a number is never given out again. Without this the table would give the newest message's number to
-- the next one once it was deleted, and a handler that still runs could finish that in its place.

-- One row: the highest number of a deleted message of each queue that was its newest one.
CREATE TABLE {last_number} (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    outbox INTEGER NOT NULL CHECK (typeof(outbox) = 'integer'),
    inbox INTEGER NOT NULL CHECK (typeof(inbox) = 'integer'),
    timer INTEGER NOT NULL CHECK (typeof(timer) = 'integer'),
    job_run INTEGER NOT NULL CHECK (typeof(job_run) = 'integer')
);
INSERT INTO {last_number} VALUES (1, 0, 0, 0, 0);

-- The number of the next message. Null, should the row above be gone: the table's own choice then.
CREATE VIEW {outbox_next} AS
SELECT max(n.outbox, coalesce((SELECT max(m.seq) FROM {outbox} AS m), 0)) + 1 AS seq FROM {last_number} AS n WHERE n.one = 1;
CREATE TRIGGER {outbox_gone} AFTER DELETE ON {outbox}
WHEN NOT EXISTS (SELECT 1 FROM {outbox} AS m WHERE m.seq > OLD.seq)
BEGIN
    UPDATE {last_number} SET outbox = OLD.seq WHERE one = 1 AND outbox < OLD.seq;
END;
DROP TRIGGER {outbox_new_stored};
CREATE TRIGGER {outbox_new_stored} INSTEAD OF INSERT ON {outbox_new}
BEGIN
    INSERT INTO {outbox} (seq, id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    VALUES ((SELECT n.seq FROM {outbox_next} AS n), NEW.id, NEW.topic, NEW.payload, NEW.headers, NEW.correlation_id, NEW.ordering_key, NEW.unique_key, NEW.created_at, NEW.due_at, NEW.expires_at);
END;

CREATE VIEW {inbox_next} AS
SELECT max(n.inbox, coalesce((SELECT max(m.seq) FROM {inbox} AS m), 0)) + 1 AS seq FROM {last_number} AS n WHERE n.one = 1;
CREATE TRIGGER {inbox_gone} AFTER DELETE ON {inbox}
WHEN NOT EXISTS (SELECT 1 FROM {inbox} AS m WHERE m.seq > OLD.seq)
BEGIN
    UPDATE {last_number} SET inbox = OLD.seq WHERE one = 1 AND inbox < OLD.seq;
END;

CREATE VIEW {timer_next} AS
SELECT max(n.timer, coalesce((SELECT max(m.seq) FROM {timer} AS m), 0)) + 1 AS seq FROM {last_number} AS n WHERE n.one = 1;
CREATE TRIGGER {timer_gone} AFTER DELETE ON {timer}
WHEN NOT EXISTS (SELECT 1 FROM {timer} AS m WHERE m.seq > OLD.seq)
BEGIN
    UPDATE {last_number} SET timer = OLD.seq WHERE one = 1 AND timer < OLD.seq;
END;
DROP TRIGGER {timer_new_stored};
CREATE TRIGGER {timer_new_stored} INSTEAD OF INSERT ON {timer_new}
BEGIN
    INSERT INTO {timer} (seq, id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    VALUES ((SELECT n.seq FROM {timer_next} AS n), NEW.id, NEW.topic, NEW.payload, NEW.headers, NEW.correlation_id, NEW.ordering_key, NEW.unique_key, NEW.created_at, NEW.due_at, NEW.expires_at);
END;

CREATE VIEW {job_run_next} AS
SELECT max(n.job_run, coalesce((SELECT max(m.seq) FROM {job_run} AS m), 0)) + 1 AS seq FROM {last_number} AS n WHERE n.one = 1;
CREATE TRIGGER {job_run_gone} AFTER DELETE ON {job_run}
WHEN NOT EXISTS (SELECT 1 FROM {job_run} AS m WHERE m.seq > OLD.seq)
BEGIN
    UPDATE {last_number} SET job_run = OLD.seq WHERE one = 1 AND job_run < OLD.seq;
END;
DROP TRIGGER {job_run_new_stored};
CREATE TRIGGER {job_run_new_stored} INSTEAD OF INSERT ON {job_run_new}
BEGIN
    INSERT INTO {job_run} (seq, id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
    VALUES ((SELECT n.seq FROM {job_run_next} AS n), NEW.id, NEW.topic, NEW.payload, NEW.headers, NEW.correlation_id, NEW.ordering_key, NEW.unique_key, NEW.created_at, NEW.due_at, NEW.expires_at);
END;

-- Jobs whose last occurrence is in the future: the clock was ahead.
CREATE INDEX {job_fired} ON {job} (fired_at) WHERE fired_at IS NOT NULL;

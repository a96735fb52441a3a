-- 0007_order: when the last running message of an ordering key is gone, the first one that is left may run;
-- not when another goes while one runs: a dead letter that was replayed may be in front of it.

CREATE INDEX {name:outbox_work_open} ON {outbox_work} (ordering_key) WHERE ordering_key IS NOT NULL AND status <> 4;
DROP TRIGGER {outbox_unblocked};
CREATE TRIGGER {outbox_unblocked} AFTER DELETE ON {outbox_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {outbox_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {outbox_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1)
      AND NOT EXISTS (SELECT 1 FROM {outbox_work} AS r WHERE r.ordering_key = OLD.ordering_key AND r.status <> 4);
END;

CREATE INDEX {name:inbox_work_open} ON {inbox_work} (ordering_key) WHERE ordering_key IS NOT NULL AND status <> 4;
DROP TRIGGER {inbox_unblocked};
CREATE TRIGGER {inbox_unblocked} AFTER DELETE ON {inbox_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {inbox_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {inbox_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1)
      AND NOT EXISTS (SELECT 1 FROM {inbox_work} AS r WHERE r.ordering_key = OLD.ordering_key AND r.status <> 4);
END;

CREATE INDEX {name:timer_work_open} ON {timer_work} (ordering_key) WHERE ordering_key IS NOT NULL AND status <> 4;
DROP TRIGGER {timer_unblocked};
CREATE TRIGGER {timer_unblocked} AFTER DELETE ON {timer_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {timer_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {timer_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1)
      AND NOT EXISTS (SELECT 1 FROM {timer_work} AS r WHERE r.ordering_key = OLD.ordering_key AND r.status <> 4);
END;

CREATE INDEX {name:job_run_work_open} ON {job_run_work} (ordering_key) WHERE ordering_key IS NOT NULL AND status <> 4;
DROP TRIGGER {job_run_unblocked};
CREATE TRIGGER {job_run_unblocked} AFTER DELETE ON {job_run_work} WHEN OLD.ordering_key IS NOT NULL
BEGIN
    UPDATE {job_run_work} SET status = 0
    WHERE status = 4
      AND seq = (SELECT w.seq FROM {job_run_work} AS w WHERE w.ordering_key = OLD.ordering_key ORDER BY w.seq LIMIT 1)
      AND NOT EXISTS (SELECT 1 FROM {job_run_work} AS r WHERE r.ordering_key = OLD.ordering_key AND r.status <> 4);
END;

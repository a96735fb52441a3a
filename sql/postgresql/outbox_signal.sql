-- outbox_signal: tell listening workers, when this transaction commits, that there may be work.
SELECT 1 FROM (SELECT pg_notify(CAST(:name AS text), '')) AS s

-- join_reap_probe: whether a join is past its deadline.
SELECT EXISTS (SELECT 1 FROM {join} AS j FORCE INDEX (deadline) WHERE j.status = 0 AND j.deadline_at <= COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))))

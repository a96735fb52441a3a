-- join_reap_probe: whether a join is past its deadline.
SELECT EXISTS (SELECT 1 FROM {join} AS j WHERE j.status = 0 AND j.deadline_at <= :now)

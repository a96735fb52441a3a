-- join_reap_probe: whether a join is past its deadline.
SELECT CASE WHEN EXISTS (SELECT 1 FROM {join} AS j WHERE j.status = 0 AND j.deadline_at <= coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))) THEN 1 ELSE 0 END

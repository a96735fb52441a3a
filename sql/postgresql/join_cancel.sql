-- join_cancel: end a join as cancelled; its status then, or no row.
UPDATE {join} AS j SET status = 3, ended_at = coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
WHERE j.id = CAST(CAST(:id AS text) AS uuid) AND j.status = 0
RETURNING j.status

-- join_remove: up to :batch joins that were over at least :lease us ago go, with all that is known of them.
DELETE FROM {join}
WHERE seq IN (SELECT j.seq FROM {join} AS j WHERE j.ended_at <= :now - :lease ORDER BY j.ended_at LIMIT :batch)
RETURNING +seq

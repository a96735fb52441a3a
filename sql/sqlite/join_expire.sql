-- join_expire: fail up to :batch joins that are past their deadline; their status then.
INSERT INTO {join_end} (seq, status, ended_at, reason)
SELECT j.seq, 2, :now, :reason FROM {join} AS j
WHERE j.status = 0 AND j.deadline_at <= :now
ORDER BY j.deadline_at
LIMIT :batch
RETURNING (SELECT +j.status FROM {join} AS j WHERE j.seq = {name:join_end}.seq)

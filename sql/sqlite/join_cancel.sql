-- join_cancel: end a join as cancelled; its status then, or no row.
INSERT INTO {join_end} (seq, status, ended_at, reason)
SELECT j.seq, 3, :now, NULL FROM {join} AS j WHERE j.id = :id AND j.status = 0
RETURNING (SELECT +j.status FROM {join} AS j WHERE j.seq = {name:join_end}.seq)

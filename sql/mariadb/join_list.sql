-- join_list: up to :batch joins after the row :number.
SELECT j.seq, HEX(j.id), j.status, j.expected, j.completed, j.failed, j.fail_if_any, j.grouping_key, j.metadata, j.created_at,
       j.deadline_at, j.ended_at, j.reason,
       (SELECT HEX(n.id) FROM {join_next} AS n WHERE n.join_seq = j.seq AND n.status = j.status)
FROM {join} AS j
WHERE j.seq > :number
ORDER BY j.seq
LIMIT :batch

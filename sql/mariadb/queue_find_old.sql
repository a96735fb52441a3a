-- queue_find_old: up to :batch finished messages after :number; 1: done for :delay us; 1: not so old itself.
SELECT f.seq, CASE WHEN f.status <> 3 AND f.finished_at <= n.old THEN 1 ELSE 0 END,
       CASE WHEN m.created_at > n.old AND m.created_at <= n.old + :delay THEN 1 ELSE 0 END
FROM (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) - :delay AS old) AS n
STRAIGHT_JOIN (SELECT i.seq, i.status, i.finished_at FROM {queue_finished} AS i WHERE i.seq > :number ORDER BY i.seq LIMIT :batch) AS f
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = f.seq
ORDER BY f.seq

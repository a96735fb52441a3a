-- queue_find_old: up to :batch finished messages after :number; 1: done for :delay us; 1: not so old itself.
SELECT +f.seq, f.status <> 3 AND f.finished_at <= :now - :delay, m.created_at > :now - :delay AND m.created_at <= :now
FROM {queue_finished} AS f CROSS JOIN {queue} AS m
WHERE f.seq > :number AND m.seq = f.seq
ORDER BY f.seq
LIMIT :batch

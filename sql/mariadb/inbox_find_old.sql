-- inbox_find_old: up to :batch finished messages after :number; 1: done, and not seen, for :delay us, and not on its way between stores, which would take it for deleted by the one that moves; 1: not so old itself.
SELECT f.seq, CASE WHEN f.status <> 3 AND f.finished_at <= n.old AND m.last_seen_at <= n.old
                  AND NOT EXISTS (SELECT 1 FROM {copy_item} AS c WHERE c.queue = 'inbox' AND c.seq = f.seq) THEN 1 ELSE 0 END,
       CASE WHEN m.created_at > n.old AND m.created_at <= n.old + :delay THEN 1 ELSE 0 END
FROM (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) - :delay AS old) AS n
STRAIGHT_JOIN (SELECT i.seq, i.status, i.finished_at FROM {inbox_finished} AS i WHERE i.seq > :number ORDER BY i.seq LIMIT :batch) AS f
STRAIGHT_JOIN {inbox} AS m FORCE INDEX (PRIMARY) ON m.seq = f.seq
ORDER BY f.seq

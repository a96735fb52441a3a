-- inbox_find_old: up to :batch finished messages after :number; 1: done, and not seen, for :delay us, and not on its way between stores, which would take it for deleted by the one that moves; 1: not so old itself.
SELECT +f.seq, f.status <> 3 AND f.finished_at <= :now - :delay AND m.last_seen_at <= :now - :delay AND NOT EXISTS (SELECT 1 FROM {copy_item} AS c WHERE c.queue = 'inbox' AND c.seq = f.seq), m.created_at > :now - :delay
FROM {inbox_finished} AS f CROSS JOIN {inbox} AS m
WHERE f.seq > :number AND m.seq = f.seq
ORDER BY f.seq
LIMIT :batch

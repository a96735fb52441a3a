-- inbox_find_old: up to :batch finished messages after :number; 1: done, and not seen, for :delay us, and not on its way between stores, which would take it for deleted by the one that moves; 1: not so old itself.
SELECT f.seq, CASE WHEN f.status <> 3 AND f.finished_at <= n.old AND m.last_seen_at <= n.old
                  AND NOT EXISTS (SELECT 1 FROM {copy_item} AS c WHERE c.queue = 'inbox' AND c.seq = f.seq) THEN 1 ELSE 0 END,
       CASE WHEN m.created_at > n.old AND m.created_at <= n.old + CAST(:delay AS bigint) THEN 1 ELSE 0 END
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) - CAST(:delay AS bigint) AS old) AS n
CROSS JOIN LATERAL (
    SELECT i.* FROM {inbox_finished} AS i WHERE i.seq > CAST(:number AS bigint) ORDER BY i.seq LIMIT CAST(:batch AS bigint)) AS f
CROSS JOIN LATERAL (SELECT o.* FROM {inbox} AS o WHERE o.seq = f.seq LIMIT 1) AS m
ORDER BY f.seq

-- queue_copy_find: as of other queues, but none that belongs to a join that is not over.
WITH page AS (
    SELECT w.seq, w.ordering_key
    FROM {queue_work} AS w
    WHERE w.seq > :number AND w.status <> 1
      AND (w.ordering_key IS NULL OR NOT EXISTS (SELECT 1 FROM {queue_work} AS h WHERE h.ordering_key = w.ordering_key AND h.status <> 4 AND h.status = 1))
      AND (w.ordering_key IS NULL OR NOT EXISTS (SELECT 1 FROM {queue_work} AS e WHERE e.ordering_key = w.ordering_key AND e.seq <= :number))
      AND w.topic <> 'join.wait'
      AND NOT EXISTS (SELECT 1 FROM {join_member} AS k JOIN {join} AS j ON j.seq = k.join_seq WHERE k.seq = w.seq AND k.status = 0 AND j.status = 0)
    ORDER BY w.seq
    LIMIT :batch
)
SELECT p.seq, (SELECT max(l.seq) FROM page AS l) FROM page AS p
UNION
SELECT w.seq, (SELECT max(l.seq) FROM page AS l)
FROM page AS p CROSS JOIN {queue_work} AS w
WHERE w.ordering_key = p.ordering_key AND w.status <> 1
      AND w.topic <> 'join.wait'
      AND NOT EXISTS (SELECT 1 FROM {join_member} AS k JOIN {join} AS j ON j.seq = k.join_seq WHERE k.seq = w.seq AND k.status = 0 AND j.status = 0)

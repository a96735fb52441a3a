-- queue_copy_find: the next :batch unfinished messages behind the one :number that may be moved, with all of their ordering keys; and where the next page begins. None of a key that is held, or that an earlier page was about.
WITH page AS (
    SELECT w.seq, w.ordering_key
    FROM {queue_work} AS w
    WHERE w.seq > :number AND w.status <> 1
      AND (w.ordering_key IS NULL OR NOT EXISTS (SELECT 1 FROM {queue_work} AS h WHERE h.ordering_key = w.ordering_key AND h.status <> 4 AND h.status = 1))
      AND (w.ordering_key IS NULL OR NOT EXISTS (SELECT 1 FROM {queue_work} AS e WHERE e.ordering_key = w.ordering_key AND e.seq <= :number))
    ORDER BY w.seq
    LIMIT :batch
)
SELECT p.seq, (SELECT max(l.seq) FROM page AS l) FROM page AS p
UNION
SELECT w.seq, (SELECT max(l.seq) FROM page AS l)
FROM page AS p CROSS JOIN {queue_work} AS w
WHERE w.ordering_key = p.ordering_key AND w.status <> 1

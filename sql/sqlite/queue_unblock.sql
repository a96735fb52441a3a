-- queue_unblock: the first message of each ordering key of the messages :seqs may run, unless another one of it may.
UPDATE {queue_work} SET status = 0
WHERE status = 4
  AND seq IN (
    SELECT (SELECT h.seq FROM {queue_work} AS h WHERE h.ordering_key = w.ordering_key ORDER BY h.seq LIMIT 1)
    FROM json_each(:seqs) AS s CROSS JOIN {queue_work} AS w
    WHERE w.seq = s.value AND w.ordering_key IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM {queue_work} AS r WHERE r.ordering_key = w.ordering_key AND r.status <> 4))

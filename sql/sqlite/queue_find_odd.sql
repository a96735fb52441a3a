-- queue_find_odd: ready messages that no claim would find, as their topic is not text.
SELECT w.seq FROM {queue_work} AS w WHERE w.status = 0 AND w.topic < ''
UNION ALL
SELECT w.seq FROM {queue_work} AS w WHERE w.status = 0 AND w.topic >= x''
LIMIT :batch

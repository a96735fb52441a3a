-- queue_reap_probe: whether a lease or a waiting message has expired, or a topic is not text.
SELECT EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.status = 1 AND w.locked_until <= :now)
    OR EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.expires_at <= :now AND w.status <> 1)
    OR EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.status = 0 AND w.topic < '')
    OR EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.status = 0 AND w.topic >= x'')

-- queue_copy_count: as of other queues; what goes with joins is not held.
SELECT (SELECT count(*) FROM {queue_work} AS w WHERE w.status <> 1),
       (SELECT count(*) FROM {queue_work} AS h WHERE h.status = 1
           AND NOT EXISTS (SELECT 1 FROM {copy_item} AS k WHERE (k.queue = CAST(:name AS text) OR k.queue = 'join') AND k.seq = h.seq AND k.peer = CAST(CAST(:owner AS text) AS uuid))),
       (SELECT count(*) FROM {queue_finished} AS f WHERE f.status = 3),
       (SELECT count(*) FROM {copy_item} AS i WHERE i.queue = CAST(:name AS text) AND i.peer = CAST(CAST(:owner AS text) AS uuid) AND i.status = 0),
       (SELECT count(*) FROM {copy_item} AS d WHERE d.queue = CAST(:name AS text) AND d.peer = CAST(CAST(:owner AS text) AS uuid) AND d.status = 3)

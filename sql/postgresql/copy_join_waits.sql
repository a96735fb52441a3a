-- copy_join_waits: the unfinished messages of the topic :topic, which wait for joins; their states, 1: it is on its way to the store :owner or from it, which join.
SELECT w.seq, CAST(w.status AS bigint), CAST(CASE WHEN EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = 'join' AND i.seq = w.seq AND i.peer = CAST(CAST(:owner AS text) AS uuid)) THEN 1 ELSE 0 END AS bigint), m.payload
FROM (SELECT a.seq, a.status FROM {outbox_work} AS a WHERE a.topic = CAST(:topic AS text) AND a.status = 0 AND a.ordering_key IS NULL
      UNION ALL
      SELECT b.seq, b.status FROM {outbox_work} AS b WHERE b.topic = CAST(:topic AS text) AND b.status = 0 AND b.ordering_key IS NOT NULL
      UNION ALL
      SELECT c.seq, c.status FROM {outbox_work} AS c WHERE c.topic = CAST(:topic AS text) AND c.status = 1 AND c.locked_until IS NOT NULL) AS w
JOIN {outbox} AS m ON m.seq = w.seq
ORDER BY w.seq

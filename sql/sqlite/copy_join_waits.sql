-- copy_join_waits: the unfinished messages of the topic :topic, which wait for joins; their states, 1: it is on its way to the store :owner or from it, which join.
SELECT +w.seq, +w.status, CASE WHEN EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = 'join' AND i.seq = w.seq AND i.peer = :owner) THEN 1 ELSE 0 END, m.payload
FROM {outbox_work} AS w CROSS JOIN {outbox} AS m
WHERE w.topic = :topic AND w.status = 0 AND m.seq = w.seq
UNION ALL
SELECT +w.seq, +w.status, CASE WHEN EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = 'join' AND i.seq = w.seq AND i.peer = :owner) THEN 1 ELSE 0 END, m.payload
FROM {outbox_work} AS w CROSS JOIN {outbox} AS m
WHERE w.topic = :topic AND w.status = 1 AND w.locked_until > 0 AND m.seq = w.seq
UNION ALL
SELECT +w.seq, +w.status, CASE WHEN EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = 'join' AND i.seq = w.seq AND i.peer = :owner) THEN 1 ELSE 0 END, m.payload
FROM {outbox_work} AS w CROSS JOIN {outbox} AS m
WHERE w.topic = :topic AND w.status = 4 AND w.ordering_key >= '' AND m.seq = w.seq
ORDER BY 1

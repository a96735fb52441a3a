-- copy_join_waits: the unfinished messages of the topic :topic, which wait for joins; their states, 1: it is on its way to the store :owner or from it, which join.
SELECT w.seq, w.status, CASE WHEN EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.queue = 'join' AND i.seq = w.seq AND i.peer = UNHEX(REPLACE(:owner, '-', ''))) THEN 1 ELSE 0 END, m.payload
FROM {outbox_work} AS w FORCE INDEX (ready) STRAIGHT_JOIN {outbox} AS m FORCE INDEX (PRIMARY) ON m.seq = w.seq
WHERE w.topic = :topic
ORDER BY w.seq

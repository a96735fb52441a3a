-- copy_join_strays: an unfinished message that has to go along with what goes to the store :owner, and does not: a member that has not counted; or a message of it that is a member of another join. One, if there is one.
SELECT w.seq
FROM {copy_join} AS c STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = c.seq AND j.status = 0
STRAIGHT_JOIN {join_member} AS k FORCE INDEX (PRIMARY) ON k.join_seq = j.seq AND k.status = 0
STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = k.seq
WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 0
  AND NOT EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.seq = w.seq AND i.queue = 'join' AND i.peer = UNHEX(REPLACE(:owner, '-', '')) AND w.owner_token = i.peer)
UNION ALL
SELECT i.seq
FROM {copy_item} AS i STRAIGHT_JOIN {outbox_work} AS v FORCE INDEX (PRIMARY) ON v.seq = i.seq AND v.joins IS NOT NULL
STRAIGHT_JOIN JSON_TABLE(CONCAT('[', v.joins, ']'), '$[*]' COLUMNS (seq BIGINT PATH '$')) AS t
STRAIGHT_JOIN {join_member} AS o FORCE INDEX (PRIMARY) ON o.join_seq = t.seq AND o.seq = i.seq AND o.status = 0
STRAIGHT_JOIN {join} AS n FORCE INDEX (PRIMARY) ON n.seq = o.join_seq AND n.status = 0
WHERE i.queue = 'join' AND i.peer = UNHEX(REPLACE(:owner, '-', '')) AND i.arrived = 0
  AND NOT EXISTS (SELECT 1 FROM {copy_join} AS d WHERE d.id = n.id AND d.peer = i.peer AND d.arrived = 0)
LIMIT 1

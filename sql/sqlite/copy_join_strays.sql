-- copy_join_strays: an unfinished message that has to go along with what goes to the store :owner, and does not: a member that has not counted; or a message of it that is a member of another join. One, if there is one.
SELECT w.seq
FROM {copy_join} AS c CROSS JOIN {join} AS j CROSS JOIN {join_member} AS k CROSS JOIN {outbox_work} AS w
WHERE c.peer = :owner AND c.arrived = 0 AND j.seq = c.seq AND j.status = 0 AND k.join_seq = j.seq AND k.status = 0 AND w.seq = k.seq
  AND NOT EXISTS (SELECT 1 FROM {copy_item} AS i WHERE i.seq = w.seq AND i.queue = 'join' AND i.peer = :owner AND w.owner_token = i.peer)
UNION ALL
SELECT i.seq
FROM {copy_item} AS i CROSS JOIN {join_member} AS o CROSS JOIN {join} AS n
WHERE i.queue = 'join' AND i.peer = :owner AND i.arrived = 0 AND o.seq = i.seq AND o.status = 0 AND n.seq = o.join_seq AND n.status = 0
  AND NOT EXISTS (SELECT 1 FROM {copy_join} AS d WHERE d.id = n.id AND d.peer = i.peer AND d.arrived = 0)
LIMIT 1

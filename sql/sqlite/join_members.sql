-- join_members: up to :batch members of a join after the message :number.
SELECT +m.seq, +m.id, +m.status
FROM {join} AS j CROSS JOIN {join_member} AS m
WHERE j.id = :id AND m.join_seq = j.seq AND m.seq > :number
ORDER BY m.seq
LIMIT :batch

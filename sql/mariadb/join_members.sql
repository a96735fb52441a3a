-- join_members: up to :batch members of a join after the message :number.
SELECT m.seq, HEX(m.id), m.status
FROM {join_member} AS m
WHERE m.join_seq = (SELECT j.seq FROM {join} AS j WHERE j.id = UNHEX(REPLACE(:id, '-', ''))) AND m.seq > :number
ORDER BY m.seq
LIMIT :batch

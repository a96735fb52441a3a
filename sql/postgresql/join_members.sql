-- join_members: up to :batch members of a join after the message :number.
SELECT m.seq, CAST(m.id AS text), m.status
FROM {join_member} AS m
WHERE m.join_seq = (SELECT j.seq FROM {join} AS j WHERE j.id = CAST(CAST(:id AS text) AS uuid))
  AND m.seq > CAST(:number AS bigint)
ORDER BY m.seq
LIMIT CAST(:batch AS bigint)

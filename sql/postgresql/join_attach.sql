-- join_attach: make the messages of the JSON array :seqs members of the join :number, if it is open; those that
-- were none; none that is just coming from another store. A trigger counts those that are finished.
WITH j AS MATERIALIZED (
    SELECT o.seq FROM {join} AS o
    WHERE o.seq = CAST(:number AS bigint) AND o.status = 0
    FOR KEY SHARE
)
INSERT INTO {join_member} (join_seq, seq, id, status, attached_at)
SELECT j.seq, m.seq, m.id, 0, coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
FROM j CROSS JOIN json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)
CROSS JOIN LATERAL (SELECT o.seq, o.id FROM {outbox} AS o WHERE o.seq = CAST(s.seq AS bigint) LIMIT 1) AS m
WHERE NOT EXISTS (SELECT 1 FROM {copy_item} AS c WHERE c.queue IN ('outbox', 'join') AND c.seq = m.seq AND c.arrived = 1)
  AND NOT EXISTS (SELECT 1 FROM {join_member} AS x WHERE x.join_seq = j.seq AND x.seq < 0 AND x.id = m.id)
ORDER BY m.seq
ON CONFLICT (join_seq, seq) DO NOTHING
RETURNING seq

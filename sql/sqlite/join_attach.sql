-- join_attach: make the messages of the JSON array :seqs members of the join :number, if it is open; those that were none; none that is just coming from another store.
INSERT INTO {join_add} (join_seq, seq, id, attached_at)
SELECT j.seq, o.seq, o.id, :now
FROM json_each(:seqs) AS s CROSS JOIN {outbox} AS o CROSS JOIN {join} AS j
WHERE o.seq = s.value AND j.seq = :number AND j.status = 0
  AND NOT EXISTS (SELECT 1 FROM {join_member} AS m WHERE m.join_seq = j.seq AND m.seq = o.seq)
  AND NOT EXISTS (SELECT 1 FROM {join_member} AS x WHERE x.join_seq = j.seq AND x.seq < 0 AND x.id = o.id)
  AND NOT EXISTS (SELECT 1 FROM {copy_item} AS c WHERE c.queue IN ('outbox', 'join') AND c.seq = o.seq AND c.arrived = 1)
RETURNING (SELECT +m.seq FROM {join_member} AS m WHERE m.join_seq = {name:join_add}.join_seq AND m.seq = {name:join_add}.seq)

-- join_strangers: how many messages of the JSON array :seqs are no members of the join :number.
SELECT count(*)
FROM json_each(:seqs) AS s
WHERE NOT EXISTS (SELECT 1 FROM {join_member} AS m WHERE m.join_seq = :number AND m.seq = s.value)
  AND NOT EXISTS (SELECT 1 FROM {outbox} AS o CROSS JOIN {join_member} AS x WHERE o.seq = s.value AND x.join_seq = :number AND x.seq < 0 AND x.id = o.id)

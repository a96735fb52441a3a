-- join_strangers: how many messages of the JSON array :seqs are no members of the join :number.
SELECT count(*)
FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)
WHERE NOT EXISTS (SELECT 1 FROM {join_member} AS m WHERE m.join_seq = CAST(:number AS bigint) AND m.seq = CAST(s.seq AS bigint))
  AND NOT EXISTS (SELECT 1 FROM {outbox} AS o JOIN {join_member} AS x ON x.join_seq = CAST(:number AS bigint) AND x.seq < 0 AND x.id = o.id
                  WHERE o.seq = CAST(s.seq AS bigint))

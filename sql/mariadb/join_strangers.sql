-- join_strangers: how many messages of the JSON array :seqs are no members of the join :number.
SELECT COUNT(*)
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
LEFT JOIN {join_member} AS m FORCE INDEX (PRIMARY) ON m.join_seq = :number AND m.seq = s.seq
WHERE m.seq IS NULL
  AND NOT EXISTS (SELECT 1 FROM {outbox} AS o FORCE INDEX (PRIMARY) STRAIGHT_JOIN {join_member} AS x FORCE INDEX (PRIMARY) ON x.join_seq = :number AND x.seq < 0 AND x.id = o.id
                  WHERE o.seq = s.seq)

-- join_strangers: how many messages of the JSON array :seqs are no members of the join :number.
SELECT COUNT(*)
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
LEFT JOIN {join_member} AS m FORCE INDEX (PRIMARY) ON m.join_seq = :number AND m.seq = s.seq
WHERE m.seq IS NULL

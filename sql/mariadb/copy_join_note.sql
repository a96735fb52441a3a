-- copy_join_note: note that the joins :messages, a JSON array of numbers, go to the store :owner.
INSERT INTO {copy_join} (id, peer, arrived, seq)
SELECT j.id, UNHEX(REPLACE(:owner, '-', '')), 0, j.seq
FROM JSON_TABLE(:messages, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = s.seq
WHERE NOT EXISTS (SELECT 1 FROM {copy_join} AS c WHERE c.id = j.id)

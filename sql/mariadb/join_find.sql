-- join_find: the joins of the ids of the JSON array :ids, with their places in it.
SELECT i.place - 1, j.seq, j.status
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (place FOR ORDINALITY, id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) AS i
STRAIGHT_JOIN {join} AS j FORCE INDEX (id) ON j.id = UNHEX(REPLACE(i.id, '-', ''))

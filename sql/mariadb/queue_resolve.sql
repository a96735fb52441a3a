-- queue_resolve: the sequence numbers of the ids of the JSON array :ids, with their places in it; whether they have ordering keys.
SELECT i.place - 1, m.seq, CASE WHEN m.ordering_key IS NULL THEN 0 ELSE 1 END
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (place FOR ORDINALITY, id VARCHAR(36) PATH '$')) AS i
STRAIGHT_JOIN {queue} AS m FORCE INDEX (id) ON m.id = UNHEX(REPLACE(i.id, '-', ''))

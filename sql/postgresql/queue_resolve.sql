-- queue_resolve: the sequence numbers of the ids of the JSON array :ids, with their places in it; whether they have ordering keys.
SELECT i.place - 1, m.seq, CASE WHEN m.ordering_key IS NULL THEN 0 ELSE 1 END
FROM json_array_elements_text(CAST(CAST(:ids AS text) AS json)) WITH ORDINALITY AS i (id, place)
CROSS JOIN LATERAL (SELECT o.seq, o.ordering_key FROM {queue} AS o WHERE o.id = CAST(i.id AS uuid) LIMIT 1) AS m

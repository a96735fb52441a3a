-- queue_resolve: the sequence numbers of the ids of the JSON array :ids, with their places in it.
SELECT i.place - 1, m.seq
FROM json_array_elements_text(CAST(CAST(:ids AS text) AS json)) WITH ORDINALITY AS i (id, place)
CROSS JOIN LATERAL (SELECT o.seq FROM {queue} AS o WHERE o.id = CAST(i.id AS uuid) LIMIT 1) AS m

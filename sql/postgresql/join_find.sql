-- join_find: the joins of the ids of the JSON array :ids, with their places in it.
SELECT i.place - 1, j.seq, j.status
FROM json_array_elements_text(CAST(CAST(:ids AS text) AS json)) WITH ORDINALITY AS i (id, place)
CROSS JOIN LATERAL (SELECT o.seq, o.status FROM {join} AS o WHERE o.id = CAST(i.id AS uuid) LIMIT 1) AS j

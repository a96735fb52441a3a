-- copy_join_put_members: store members of the join :id, from the place :number on: their ids :ids, and a JSON array :messages of [how it counted, when it was attached, when it counted].
INSERT INTO {copy_join_member} (id, place, message, status, attached_at, counted_at)
SELECT CAST(CAST(:id AS text) AS uuid), CAST(:number AS bigint) + i.place, CAST(i.id AS uuid), CAST(m.c ->> 0 AS smallint), CAST(m.c ->> 1 AS bigint), CAST(m.c ->> 2 AS bigint)
FROM json_array_elements_text(CAST(CAST(:ids AS text) AS json)) WITH ORDINALITY AS i (id, place)
JOIN json_array_elements(CAST(CAST(:messages AS text) AS json)) WITH ORDINALITY AS m (c, place) ON m.place = i.place

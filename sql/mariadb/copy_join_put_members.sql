-- copy_join_put_members: store members of the join :id, from the place :number on: their ids :ids, and a JSON array :messages of [how it counted, when it was attached, when it counted].
INSERT INTO {copy_join_member} (id, place, message, status, attached_at, counted_at)
SELECT UNHEX(REPLACE(:id, '-', '')), :number + i.place, UNHEX(REPLACE(i.id, '-', '')), m.status, m.attached_at, m.counted_at
FROM JSON_TABLE(:ids, '$[*]' COLUMNS (place FOR ORDINALITY, id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$')) AS i
JOIN JSON_TABLE(:messages, '$[*]' COLUMNS (place FOR ORDINALITY, status BIGINT PATH '$[0]', attached_at BIGINT PATH '$[1]', counted_at BIGINT PATH '$[2]')) AS m ON m.place = i.place

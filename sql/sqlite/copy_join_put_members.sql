-- copy_join_put_members: store members of the join :id, from the place :number on: their ids :ids, and a JSON array :messages of [how it counted, when it was attached, when it counted].
INSERT INTO {copy_join_member} (id, place, message, status, attached_at, counted_at)
SELECT :id, :number + m.key + 1, substr(:ids, m.key * 16 + 1, 16), json_extract(m.value, '$[0]'), json_extract(m.value, '$[1]'), json_extract(m.value, '$[2]')
FROM json_each(:messages) AS m

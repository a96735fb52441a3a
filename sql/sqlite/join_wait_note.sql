-- join_wait_note: note the waiting messages [join, message].
INSERT INTO {join_wait} (join_seq, seq)
SELECT json_extract(c.value, '$[0]'), json_extract(c.value, '$[1]') FROM json_each(:messages) AS c WHERE true
ON CONFLICT (join_seq, seq) DO NOTHING

-- queue_remove_finished: the messages of the JSON array :seqs go, unless they are unfinished; which do.
DELETE FROM {queue_finished} AS f
WHERE f.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq)))
  AND (f.status = 3) = (CAST(:status AS smallint) = 3)
RETURNING f.seq

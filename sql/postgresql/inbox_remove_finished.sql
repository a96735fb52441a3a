-- inbox_remove_finished: the messages of the JSON array :seqs go, unless they are unfinished or, if they are done, have arrived since; which do. Whoever is storing one keeps it; who comes later waits.
DELETE FROM {inbox_finished} AS f
USING (SELECT m.seq FROM {inbox} AS m
       WHERE m.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq)))
         AND (CAST(:status AS smallint) = 3
              OR m.last_seen_at <= coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) - CAST(:delay AS bigint))
       ORDER BY m.seq
       FOR UPDATE SKIP LOCKED) AS h
WHERE f.seq = h.seq AND (f.status = 3) = (CAST(:status AS smallint) = 3)
RETURNING f.seq

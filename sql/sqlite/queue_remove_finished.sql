-- queue_remove_finished: the messages of the JSON array :seqs go, unless they are unfinished; which do.
DELETE FROM {queue_finished}
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND (status = 3) = (:status = 3)
RETURNING +seq

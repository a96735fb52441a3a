-- queue_remove: the messages :seqs themselves.
DELETE FROM {queue}
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)

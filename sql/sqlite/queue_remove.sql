-- queue_remove: the messages :seqs themselves.
DELETE FROM {queue}
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)
  AND seq >= (SELECT min(s.value) FROM json_each(:seqs) AS s) AND seq <= (SELECT max(s.value) FROM json_each(:seqs) AS s)

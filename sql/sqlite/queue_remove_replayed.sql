-- queue_remove_replayed: what is known of their replays.
DELETE FROM {queue_replayed}
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s)

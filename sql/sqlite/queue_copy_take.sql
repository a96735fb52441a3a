-- queue_copy_take: hold the messages :seqs for the store :owner, those that nobody holds.
UPDATE {queue_work} SET status = 1, owner_token = :owner, locked_until = :until
WHERE seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND status <> 1

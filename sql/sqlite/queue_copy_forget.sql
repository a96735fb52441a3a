-- queue_copy_forget: those of :seqs are not on their way any more.
DELETE FROM {copy_item}
WHERE queue = :name AND seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND peer = :owner

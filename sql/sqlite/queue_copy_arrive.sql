-- queue_copy_arrive: note it.
INSERT INTO {copy_item} (queue, seq, peer, status, finished_at, finished_by, arrived)
VALUES (:name, :number, :owner, :status, :occurrence, :worker, 1)

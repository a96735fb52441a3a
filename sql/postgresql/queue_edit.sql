-- queue_edit: the message :number has another payload.
UPDATE {queue} SET payload = CAST(:payload AS text) WHERE seq = CAST(:number AS bigint)

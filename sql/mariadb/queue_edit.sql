-- queue_edit: the message :number has another payload.
UPDATE {queue} SET payload = :payload WHERE seq = :number

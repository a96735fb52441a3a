-- queue_edit: the dead letter @Number has another payload.
EXEC {queue_Edit} @Number = :number, @Payload = :payload

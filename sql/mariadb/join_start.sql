-- join_start: start a join, with what is to be enqueued at its end in the JSON array :messages.
CALL {join_start}(:id, :number, :status, :name, :payload, :now, :expires_at, :delay, :messages)

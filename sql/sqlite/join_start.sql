-- join_start: start a join, with what is to be enqueued at its end in the JSON array :messages and their ids, 16 bytes each, in :ids.
INSERT INTO {join_new} (id, expected, fail_if_any, grouping_key, metadata, created_at, deadline_at, next_ids, nexts)
VALUES (:id, :number, :status, :name, :payload, :now, coalesce(:expires_at, :now + :delay), :ids, :messages)

-- copy_join_put_next: store what is enqueued when the join :id is over with :status, as a message with the id :owner.
INSERT INTO {copy_join_next} (id, status, next_id, topic, payload, headers, correlation_id, ordering_key)
VALUES (UNHEX(REPLACE(:id, '-', '')), :status, UNHEX(REPLACE(:owner, '-', '')), :topic, :payload, :headers, :correlation_id, :ordering_key)

-- copy_join_put_next: store what is enqueued when the join :id is over with :status, as a message with the id :owner.
INSERT INTO {copy_join_next} (id, status, next_id, topic, payload, headers, correlation_id, ordering_key)
VALUES (CAST(CAST(:id AS text) AS uuid), CAST(:status AS smallint), CAST(CAST(:owner AS text) AS uuid), CAST(:topic AS text), CAST(:payload AS text), CAST(:headers AS text), CAST(:correlation_id AS text), CAST(:ordering_key AS text))

-- 0011_strange_connections: joins start where the schema may not call functions of JSON (trusted_schema = OFF).

-- As join_new, which older libraries insert into, but what is to be enqueued is in columns; without a topic there is none.
CREATE VIEW {join_begin} AS
SELECT id, expected, fail_if_any, grouping_key, metadata, created_at, deadline_at,
       NULL AS success_id, NULL AS success_topic, NULL AS success_payload, NULL AS success_headers,
       NULL AS success_correlation_id, NULL AS success_ordering_key,
       NULL AS failure_id, NULL AS failure_topic, NULL AS failure_payload, NULL AS failure_headers,
       NULL AS failure_correlation_id, NULL AS failure_ordering_key
FROM {join};
CREATE TRIGGER {join_begun} INSTEAD OF INSERT ON {join_begin}
BEGIN
    INSERT INTO {join} (id, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at)
    VALUES (NEW.id, 0, NEW.expected, 0, 0, NEW.fail_if_any, NEW.grouping_key, NEW.metadata, NEW.created_at, NEW.deadline_at);
    INSERT INTO {join_next} (join_seq, status, id, topic, payload, headers, correlation_id, ordering_key)
    SELECT j.seq, 1, NEW.success_id, NEW.success_topic, NEW.success_payload, NEW.success_headers,
           NEW.success_correlation_id, NEW.success_ordering_key
    FROM {join} AS j WHERE j.id = NEW.id AND NEW.success_topic IS NOT NULL;
    INSERT INTO {join_next} (join_seq, status, id, topic, payload, headers, correlation_id, ordering_key)
    SELECT j.seq, 2, NEW.failure_id, NEW.failure_topic, NEW.failure_payload, NEW.failure_headers,
           NEW.failure_correlation_id, NEW.failure_ordering_key
    FROM {join} AS j WHERE j.id = NEW.id AND NEW.failure_topic IS NOT NULL;
END;

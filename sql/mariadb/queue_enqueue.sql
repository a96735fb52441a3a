-- queue_enqueue: store one message; triggers number it and add its work row.
INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at, expires_at)
SELECT UNHEX(REPLACE(:id, '-', '')), :topic, :payload, :headers, :correlation_id, :ordering_key, n.now, COALESCE(:due_at, n.now + :delay), :expires_at
FROM (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n

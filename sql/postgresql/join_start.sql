-- join_start: start a join, with what is to be enqueued at its end in the JSON array :messages. Workers are told
-- of that on the channel :source.
WITH j AS (
    INSERT INTO {join} (id, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at, channel)
    SELECT CAST(CAST(:id AS text) AS uuid), 0, CAST(:number AS bigint), 0, 0, CAST(:status AS smallint), CAST(:name AS text),
           CAST(:payload AS text), n.now, coalesce(CAST(:expires_at AS bigint), n.now + CAST(:delay AS bigint)),
           CAST(:source AS text)
    FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
    RETURNING seq
)
INSERT INTO {join_next} (join_seq, status, id, topic, payload, headers, correlation_id, ordering_key)
SELECT j.seq, m.status, CAST(m.id AS uuid), m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key
FROM j CROSS JOIN json_to_recordset(CAST(CAST(:messages AS text) AS json)) AS m (
         status smallint, id text, topic text, payload text, headers text, correlation_id text, ordering_key text)

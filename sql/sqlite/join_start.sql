-- join_start: start a join, with what is to be enqueued at its end in the JSON array :messages and their ids, 16 bytes each, in :ids.
INSERT INTO {join_begin} (id, expected, fail_if_any, grouping_key, metadata, created_at, deadline_at,
    success_id, success_topic, success_payload, success_headers, success_correlation_id, success_ordering_key,
    failure_id, failure_topic, failure_payload, failure_headers, failure_correlation_id, failure_ordering_key)
SELECT :id, :number, :status, :name, :payload, :now, coalesce(:expires_at, :now + :delay),
       substr(:ids, 1, 16), json_extract(s.value, '$.topic'), json_extract(s.value, '$.payload'),
       json_extract(s.value, '$.headers'), json_extract(s.value, '$.correlation_id'), json_extract(s.value, '$.ordering_key'),
       substr(:ids, 17, 16), json_extract(f.value, '$.topic'), json_extract(f.value, '$.payload'),
       json_extract(f.value, '$.headers'), json_extract(f.value, '$.correlation_id'), json_extract(f.value, '$.ordering_key')
FROM (SELECT 1) AS one
LEFT JOIN json_each(:messages) AS s ON json_extract(s.value, '$.status') = 1
LEFT JOIN json_each(:messages) AS f ON json_extract(f.value, '$.status') = 2

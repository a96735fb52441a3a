-- copy_join_keys: the unfinished messages with the ordering keys of the messages :seqs; their states.
SELECT DISTINCT +w.seq, +w.status
FROM json_each(:seqs) AS s CROSS JOIN {outbox} AS m CROSS JOIN {outbox_work} AS w
WHERE m.seq = s.value AND m.ordering_key IS NOT NULL AND w.ordering_key = m.ordering_key

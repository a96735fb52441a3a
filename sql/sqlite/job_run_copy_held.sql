-- queue_copy_held: those of :seqs that are held for the store :owner, and when they were asked to end, or 0; nobody else can change that now.
SELECT +w.seq, coalesce(CASE WHEN NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = m.seq AND p.replayed_at >= m.cancel_at) THEN m.cancel_at END, 0)
FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue_work} AS w CROSS JOIN {queue} AS m
WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND w.seq = s.value AND w.status = 1 AND w.owner_token = :owner AND m.seq = w.seq

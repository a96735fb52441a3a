-- queue_copy_split: as of other queues; one that belongs to a join that is not over stays, and all of its key with it.
WITH taken AS MATERIALIZED (
    SELECT m.seq AS seq, m.ordering_key AS ordering_key
    FROM json_each(:seqs) AS s CROSS JOIN {copy_item} AS i CROSS JOIN {queue} AS m
    WHERE i.queue = :name AND i.seq = s.value AND i.peer = :owner AND m.seq = s.value AND m.ordering_key IS NOT NULL
), others AS MATERIALIZED (
    SELECT k.ordering_key AS ordering_key, min(CASE WHEN o.status = 1 OR (o.topic = 'join.wait' OR EXISTS (SELECT 1 FROM {join_member} AS r JOIN {join} AS j ON j.seq = r.join_seq WHERE r.seq = o.seq AND r.status = 0 AND j.status = 0)) THEN 0 ELSE o.seq END) AS before
    FROM (SELECT DISTINCT t.ordering_key FROM taken AS t) AS k CROSS JOIN {queue_work} AS o
    WHERE o.ordering_key = k.ordering_key AND o.owner_token IS NOT :owner
    GROUP BY k.ordering_key
)
SELECT +t.seq
FROM others AS x CROSS JOIN taken AS t
WHERE t.ordering_key = x.ordering_key AND x.before < t.seq

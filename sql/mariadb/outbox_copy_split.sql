-- queue_copy_split: as of other queues; one that belongs to a join that is not over stays, and all of its key with it.
WITH taken AS (
    SELECT m.seq, m.ordering_key
    FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {copy_item} AS i FORCE INDEX (PRIMARY) ON i.queue = :name AND i.seq = s.seq
    STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
    WHERE i.peer = UNHEX(REPLACE(:owner, '-', '')) AND m.ordering_key IS NOT NULL
), others AS (
    SELECT k.ordering_key, MIN(CASE WHEN o.status = 1 OR (o.topic = 'join.wait' OR EXISTS (SELECT 1 FROM {join_member} AS r JOIN {join} AS j ON j.seq = r.join_seq WHERE r.seq = o.seq AND r.status = 0 AND j.status = 0)) THEN 0 ELSE o.seq END) AS first_seq
    FROM (SELECT DISTINCT t.ordering_key FROM taken AS t) AS k STRAIGHT_JOIN {queue_work} AS o ON o.ordering_key = k.ordering_key
    WHERE NOT (o.owner_token <=> UNHEX(REPLACE(:owner, '-', '')))
    GROUP BY k.ordering_key
)
SELECT t.seq
FROM others AS x STRAIGHT_JOIN taken AS t ON t.ordering_key = x.ordering_key AND x.first_seq < t.seq

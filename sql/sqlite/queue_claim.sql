-- queue_claim: lease up to :batch due messages of the JSON array :topics to :owner for :lease us.
UPDATE {queue_work}
SET status = 1, owner_token = :owner, locked_until = :now + :lease,
    claim_number = CAST(claim_number AS INTEGER) + 1, max_attempts = :max_attempts
WHERE seq IN (
    SELECT w.seq
    FROM json_each(:topics) AS t CROSS JOIN {queue_work} AS w
    WHERE w.seq IN (
        SELECT a.seq FROM (
            SELECT c.seq FROM {queue_work} AS c
            WHERE c.status = 0 AND c.topic = t.value AND c.at_once = 1
              AND (c.expires_at IS NULL OR c.expires_at > :now)
            ORDER BY c.next_attempt_at, c.seq
            LIMIT :batch) AS a
        UNION ALL
        SELECT b.seq FROM (
            SELECT c.seq FROM {queue_work} AS c
            WHERE c.status = 0 AND c.topic = t.value AND c.at_once = 0 AND c.next_attempt_at <= :now
              AND (c.expires_at IS NULL OR c.expires_at > :now)
            ORDER BY c.next_attempt_at, c.seq
            LIMIT :batch) AS b)
    ORDER BY w.next_attempt_at, w.seq
    LIMIT :batch)
RETURNING seq

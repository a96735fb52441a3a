-- inbox_replay: make the dead letters of the JSON array :seqs ready again, with no attempts, one after the other in steps of :delay us from the :count-th on, and not before their due times. The messages are written, too: see changes.
CREATE OR REPLACE PROCEDURE {inbox_replay}(
    IN p_seqs LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT,
    IN p_count BIGINT,
    IN p_delay BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
{call_begin}
    UPDATE JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {inbox} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
    SET m.changes = m.changes + 1, m.worked = 1;
    INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at, last_error)
    SELECT f.seq, m.topic, CASE WHEN m.ordering_key IS NULL THEN 0 ELSE 4 END, GREATEST(v_now + (s.place - 1 + p_count) * p_delay, m.due_at),
           0, f.claim_number, m.ordering_key, CASE WHEN m.expires_at > v_now THEN m.expires_at END, f.last_error
    FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (place FOR ORDINALITY, seq BIGINT PATH '$')) AS s
    STRAIGHT_JOIN {inbox_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
    STRAIGHT_JOIN {inbox} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
    WHERE f.status = 3 AND m.topic IS NOT NULL;
{call_end}
END

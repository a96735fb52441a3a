-- queue_expire: fail waiting messages that are past their expiry.
CREATE OR REPLACE PROCEDURE {queue_expire}(
    IN p_now BIGINT,
    IN p_since BIGINT,
    IN p_batch BIGINT,
    IN p_worker LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', o.seq, ']' ORDER BY o.seq), ']') INTO v_held
    FROM (SELECT w.seq FROM {queue_work} AS w FORCE INDEX (expires)
          WHERE w.expires_at <= v_now AND w.expires_at >= p_since AND w.status <> 1
          ORDER BY w.expires_at, w.seq
          LIMIT p_batch
          FOR UPDATE SKIP LOCKED) AS o;
    INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
    SELECT w.seq, 3, w.attempt, w.claim_number, v_now, p_worker, p_reason
    FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    FOR UPDATE;{joined}
    DELETE w FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq;
{call_end}
    SELECT c.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END

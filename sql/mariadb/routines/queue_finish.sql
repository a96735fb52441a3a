-- queue_finish: end the claims [[seq, claim number or null], ...] that :owner holds, as done or failed; 0.
CREATE OR REPLACE PROCEDURE {queue_finish}(
    IN p_claims LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_status BIGINT,
    IN p_attempts BIGINT,
    IN p_worker LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_owner BINARY(16) DEFAULT UNHEX(REPLACE(p_owner, '-', ''));
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ',', w.claim_number, ']' ORDER BY w.seq), ']') INTO v_held
    FROM JSON_TABLE(p_claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status = 1 AND w.owner_token = v_owner AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
    FOR UPDATE;
    INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
    SELECT w.seq, p_status, w.attempt + p_attempts, w.claim_number, v_now, p_worker, COALESCE(p_reason, w.last_error)
    FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    FOR UPDATE;{joined}
    DELETE w FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq;
{call_end}
    SELECT c.seq, c.claim_number, 0 FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END

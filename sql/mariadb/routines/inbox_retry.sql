-- inbox_retry: give claims back after a failed attempt, to be tried again in :delay us, and not before a due time that came meanwhile.
CREATE OR REPLACE PROCEDURE {inbox_retry}(
    IN p_claims LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_delay BIGINT,
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
    FROM JSON_TABLE(p_claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {inbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status = 1 AND w.owner_token = v_owner AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
    FOR UPDATE;
    UPDATE JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {inbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    SET w.status = CASE WHEN w.ordering_key IS NULL THEN 0 ELSE 4 END, w.running_key = NULL, w.next_attempt_at = GREATEST(v_now + p_delay, w.next_attempt_at), w.attempt = w.attempt + 1,
        w.owner_token = NULL, w.locked_until = NULL, w.last_error = COALESCE(p_reason, w.last_error);
{call_end}
    SELECT c.seq, c.claim_number FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END

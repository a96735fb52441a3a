-- join_wait_hold: claims [join, message, claim number] of :owner go back until their join is over, or for :delay us; where the join is just being changed or was just over, for less.
CREATE OR REPLACE PROCEDURE {join_wait_hold}(
    IN p_messages LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_delay BIGINT,
    IN p_lease BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_open LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(j.seq), ']') INTO v_open
    FROM (SELECT DISTINCT c.join_seq FROM JSON_TABLE(p_messages, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', claim_number BIGINT PATH '$[2]')) AS c) AS d
    STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = d.join_seq
    WHERE j.status = 0
    LOCK IN SHARE MODE SKIP LOCKED;
    INSERT INTO {join_wait} (join_seq, seq)
    SELECT c.join_seq, c.seq FROM JSON_TABLE(p_messages, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', claim_number BIGINT PATH '$[2]')) AS c
    WHERE c.join_seq IN (SELECT s.seq FROM JSON_TABLE(v_open, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s)
    ON DUPLICATE KEY UPDATE seq = VALUE(seq);
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', c.join_seq, ',', w.seq, ',', w.claim_number, ']' ORDER BY w.seq), ']') INTO v_held
    FROM JSON_TABLE(p_messages, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', claim_number BIGINT PATH '$[2]')) AS c STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status = 1 AND w.owner_token = UNHEX(REPLACE(p_owner, '-', '')) AND w.claim_number = c.claim_number
    FOR UPDATE;
    UPDATE JSON_TABLE(v_held, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', claim_number BIGINT PATH '$[2]')) AS c STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    SET w.status = CASE WHEN w.ordering_key IS NULL THEN 0 ELSE 4 END, w.running_key = NULL, w.owner_token = NULL, w.locked_until = NULL,
        w.next_attempt_at = v_now + CASE WHEN c.join_seq IN (SELECT s.seq FROM JSON_TABLE(v_open, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s) THEN p_delay ELSE p_lease END;
{call_end}
    SELECT c.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', claim_number BIGINT PATH '$[2]')) AS c;
END

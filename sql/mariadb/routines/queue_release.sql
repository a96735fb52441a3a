-- queue_release: give claims back that were never started, as they were.
CREATE OR REPLACE PROCEDURE {queue_release}(
    IN p_claims LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_owner BINARY(16) DEFAULT UNHEX(REPLACE(p_owner, '-', ''));
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ',', w.claim_number, ']' ORDER BY w.seq), ']') INTO v_held
    FROM JSON_TABLE(p_claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status = 1 AND w.owner_token = v_owner AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
    FOR UPDATE;
    UPDATE JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    SET w.status = CASE WHEN w.ordering_key IS NULL THEN 0 ELSE 4 END, w.running_key = NULL, w.owner_token = NULL, w.locked_until = NULL;
{call_end}
    SELECT c.seq, c.claim_number FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END

-- queue_renew_free: extend claims to :lease us from now, but wait for none that another transaction has locked: 0 tells that one is, and was ours before.
CREATE OR REPLACE PROCEDURE {queue_renew_free}(
    IN p_claims LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_lease BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_owner BINARY(16) DEFAULT UNHEX(REPLACE(p_owner, '-', ''));
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_free LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_locked LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ',', c.claim_number, ']' ORDER BY w.seq), ']') INTO v_free
    FROM JSON_TABLE(p_claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    FOR UPDATE SKIP LOCKED;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ',', w.claim_number, ']'), ']') INTO v_held
    FROM JSON_TABLE(v_free, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status = 1 AND w.owner_token = v_owner AND w.claim_number = c.claim_number
    FOR UPDATE;
    UPDATE JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    SET w.locked_until = v_now + p_lease;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ',', w.claim_number, ']'), ']') INTO v_locked
    FROM JSON_TABLE(p_claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status = 1 AND w.owner_token = v_owner AND w.claim_number = c.claim_number
      AND c.seq NOT IN (SELECT f.seq FROM JSON_TABLE(COALESCE(v_free, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS f);
{call_end}
    SELECT c.seq, c.claim_number, 1 FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c
    UNION ALL
    SELECT c.seq, c.claim_number, 0 FROM JSON_TABLE(v_locked, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END

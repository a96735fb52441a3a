-- lease_clean: forget up to :batch names that nobody has held for :delay us. Rows that others have locked stay.
CREATE OR REPLACE PROCEDURE {lease_clean}(
    IN p_now BIGINT,
    IN p_delay BIGINT,
    IN p_batch BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_until BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) - p_delay;
    DECLARE v_old LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_gone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(o.fence, o.name) ORDER BY o.name), ']') INTO v_old
    FROM (SELECT l.fence, l.name FROM {lease} AS l WHERE l.held_until <= v_until ORDER BY l.name LIMIT p_batch) AS o;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(l.fence, l.name)), ']') INTO v_gone
    FROM JSON_TABLE(v_old, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.name = k.name
    WHERE l.held_until <= v_until
    FOR UPDATE SKIP LOCKED;
    DELETE l FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.name = k.name;
{call_end}
    SELECT k.fence FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k;
END

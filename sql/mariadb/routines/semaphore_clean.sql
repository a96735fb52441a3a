-- semaphore_clean: forget up to :batch holders whose time has passed :delay us ago. What others have locked stays.
CREATE OR REPLACE PROCEDURE {semaphore_clean}(
    IN p_now BIGINT,
    IN p_delay BIGINT,
    IN p_batch BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_until BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) - p_delay;
    DECLARE v_old LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_names LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_gone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(o.fence, o.name, o.owner) ORDER BY o.name, o.owner), ']') INTO v_old
    FROM (SELECT h.fence, h.name, h.owner FROM {semaphore_holder} AS h WHERE h.held_until <= v_until ORDER BY h.fence LIMIT p_batch) AS o;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(0, s.name) ORDER BY s.name), ']') INTO v_names
    FROM (SELECT DISTINCT k.name FROM JSON_TABLE(v_old, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k) AS n STRAIGHT_JOIN {semaphore} AS s FORCE INDEX (PRIMARY) ON s.name = n.name
    FOR UPDATE SKIP LOCKED;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(h.fence, h.name, h.owner)), ']') INTO v_gone
    FROM JSON_TABLE(v_old, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k STRAIGHT_JOIN {semaphore_holder} AS h FORCE INDEX (PRIMARY) ON h.name = k.name AND h.owner = k.owner
    WHERE h.held_until <= v_until AND h.name IN (SELECT k.name FROM JSON_TABLE(v_names, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k)
    FOR UPDATE SKIP LOCKED;
    DELETE h FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k STRAIGHT_JOIN {semaphore_holder} AS h FORCE INDEX (PRIMARY) ON h.name = k.name AND h.owner = k.owner;
    UPDATE (SELECT k.name, COUNT(*) AS count FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k GROUP BY k.name) AS g STRAIGHT_JOIN {semaphore} AS s FORCE INDEX (PRIMARY) ON s.name = g.name
    SET s.held = s.held - g.count;
{call_end}
    SELECT k.fence FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k;
END

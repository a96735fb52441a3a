-- lease_keep: extend acquisitions; :leases are [[fence, duration in us], ...]. One that has expired is extended, too, as long as nobody else was given the name: its holder's clock says that it still runs. Rows that others have locked are not waited for: they come with 0.
CREATE OR REPLACE PROCEDURE {lease_keep}(
    IN p_leases LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT;
    DECLARE v_known LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_free LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_locked LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    -- They are found without locks, and locked by their primary keys.
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(f.fence, f.duration, l.name, l.owner) ORDER BY l.name, l.owner), ']') INTO v_known
    FROM JSON_TABLE(p_leases, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]')) AS f STRAIGHT_JOIN {lease} AS l FORCE INDEX (fence) ON l.fence = f.fence AND l.owner IS NOT NULL;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(l.fence, k.duration, l.name, l.owner)), ']') INTO v_free
    FROM JSON_TABLE(v_known, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]')) AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.name = k.name
    WHERE l.fence = k.fence AND l.owner IS NOT NULL
    FOR UPDATE SKIP LOCKED;
    SET v_now = COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    UPDATE JSON_TABLE(v_free, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]')) AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.name = k.name
    SET l.held_until = v_now + k.duration;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(l.fence)), ']') INTO v_locked
    FROM JSON_TABLE(v_known, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[3]')) AS k STRAIGHT_JOIN {lease} AS l FORCE INDEX (PRIMARY) ON l.name = k.name
    WHERE l.fence = k.fence AND l.owner IS NOT NULL
      AND l.fence NOT IN (SELECT f.fence FROM JSON_TABLE(COALESCE(v_free, '[]'), '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]')) AS f);
{call_end}
    SELECT f.fence, 1 FROM JSON_TABLE(v_free, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]')) AS f
    UNION ALL
    SELECT f.fence, 0 FROM JSON_TABLE(v_locked, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', duration BIGINT PATH '$[1]')) AS f;
END

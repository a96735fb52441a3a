-- lease_release: free what :owner holds; with :fence, that very acquisition.
CREATE OR REPLACE PROCEDURE {lease_release}(
    IN p_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_fence BIGINT,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_held BOOL DEFAULT FALSE;
    DECLARE v_fence BIGINT;
    DECLARE v_until BIGINT;
    DECLARE v_now BIGINT;
{call_begin}
    SELECT l.fence, l.held_until INTO v_fence, v_until FROM {lease} AS l
    WHERE l.name = p_name AND l.owner = p_owner AND l.fence = COALESCE(p_fence, l.fence)
    FOR UPDATE;
    SET v_now = COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    IF v_until > v_now THEN
        SET v_held = TRUE;
        UPDATE {lease} SET owner = NULL, held_until = v_now WHERE name = p_name;
    END IF;
{call_end}
    SELECT v_fence FROM DUAL WHERE v_held;
END

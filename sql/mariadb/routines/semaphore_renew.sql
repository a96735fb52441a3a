-- semaphore_renew: extend what :owner holds to :lease us from now; with :fence, that very slot.
CREATE OR REPLACE PROCEDURE {semaphore_renew}(
    IN p_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_fence BIGINT,
    IN p_lease BIGINT,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_held BOOL DEFAULT FALSE;
    DECLARE v_fence BIGINT;
    DECLARE v_until BIGINT;
    DECLARE v_now BIGINT;
{call_begin}
    SELECT l.fence, l.held_until INTO v_fence, v_until FROM {semaphore_holder} AS l
    WHERE l.name = p_name AND l.owner = p_owner AND l.fence = COALESCE(p_fence, l.fence)
    FOR UPDATE;
    SET v_now = COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    IF v_until > v_now THEN
        SET v_held = TRUE, v_until = v_now + p_lease;
        UPDATE {semaphore_holder} SET held_until = v_until WHERE name = p_name AND owner = p_owner;
    END IF;
{call_end}
    SELECT 1, p_owner, v_fence, v_until, v_now, 0, 0 FROM DUAL WHERE v_held;
END

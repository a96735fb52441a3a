-- lease_acquire: give :name to :owner for :lease us, if it is free, expired or the owner's already; else tell whose it is.
CREATE OR REPLACE PROCEDURE {lease_acquire}(
    IN p_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_lease BIGINT,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_granted BIGINT DEFAULT 0;
    DECLARE v_owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_until BIGINT;
    DECLARE v_first BIGINT;
    DECLARE v_next BIGINT;
    DECLARE v_before BIGINT;
{call_begin}
    -- Who is refused locks nothing, so that the holder can renew.
    SELECT l.owner, l.fence, l.held_until INTO v_owner, v_fence, v_until FROM {lease} AS l WHERE l.name = p_name;
    IF v_owner IS NULL OR v_owner = p_owner OR v_until <= v_now THEN
        SET v_first = NEXTVAL({lease_fence});
        INSERT INTO {lease} (name, owner, fence, held_until, acquired_at) VALUES (p_name, p_owner, v_first, v_now + p_lease, v_now)
        ON DUPLICATE KEY UPDATE acquired_at = acquired_at;
        SELECT l.owner, l.fence, l.held_until INTO v_owner, v_fence, v_until FROM {lease} AS l WHERE l.name = p_name FOR UPDATE;
        -- The fence and the time are those after the row was locked, so that they rise with every acquire. Those of a new row
        -- are as good if nobody took a number meanwhile, and it did not wait.
        SET v_next = NEXTVAL({lease_fence}), v_before = v_now, v_now = COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
        IF v_fence = v_first AND v_next = v_first + 1 AND v_now - v_before BETWEEN 0 AND 10000 THEN
            SET v_granted = 1, v_now = v_before;
        ELSEIF v_owner IS NULL OR v_owner = p_owner OR v_until <= v_now THEN
            SET v_granted = 1, v_owner = p_owner, v_fence = v_next, v_until = v_now + p_lease;
            UPDATE {lease} SET owner = v_owner, fence = v_fence, held_until = v_until, acquired_at = v_now WHERE name = p_name;
        END IF;
    END IF;
{call_end}
    SELECT v_granted, v_owner, v_fence, v_until, v_now, 1, 1;
END

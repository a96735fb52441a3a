-- semaphore_acquire: give a slot of :name to :owner for :lease us, if one is free or the owner's already; else tell when the first holder is over. Takes back the slots whose time has passed. No row: there is no such semaphore.
CREATE OR REPLACE PROCEDURE {semaphore_acquire}(
    IN p_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_lease BIGINT,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_granted BIGINT DEFAULT 0;
    DECLARE v_fence BIGINT DEFAULT 0;
    DECLARE v_full BIGINT;
    DECLARE v_own BIGINT;
    DECLARE v_until BIGINT;
    DECLARE v_slots BIGINT;
    DECLARE v_held BIGINT;
    DECLARE v_before BIGINT;
    DECLARE v_gone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    -- Who is refused locks nothing.
    SELECT s.slots, f.first, f.count, 1 INTO v_slots, v_until, v_held, v_full
    FROM {semaphore} AS s
    CROSS JOIN (SELECT COALESCE(MIN(h.held_until), 0) AS first, COUNT(*) AS count FROM {semaphore_holder} AS h
                WHERE h.name = p_name AND h.held_until > v_now) AS f
    WHERE s.name = p_name AND s.held >= s.slots AND f.count = s.held
      AND NOT EXISTS (SELECT 1 FROM {semaphore_holder} AS o WHERE o.name = p_name AND o.owner = p_owner);
    IF v_full IS NULL THEN
        SELECT s.slots, s.held, s.held INTO v_slots, v_held, v_before FROM {semaphore} AS s WHERE s.name = p_name FOR UPDATE;
    END IF;
    IF v_full IS NULL AND v_slots IS NOT NULL THEN
        SET v_now = COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(0, h.name, h.owner)), ']') INTO v_gone
        FROM {semaphore_holder} AS h
        WHERE h.name = p_name AND h.owner <> p_owner AND h.held_until <= v_now;
        DELETE h FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (fence BIGINT PATH '$[0]', name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[1]', owner VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$[2]')) AS k STRAIGHT_JOIN {semaphore_holder} AS h FORCE INDEX (PRIMARY) ON h.name = k.name AND h.owner = k.owner
        WHERE h.held_until <= v_now;
        SET v_held = v_held - ROW_COUNT();
        -- The owner's row: to insert it leaves no gap locked, as to look for it might.
        INSERT INTO {semaphore_holder} (name, owner, held_until, acquired_at) VALUES (p_name, p_owner, 0, 0)
        ON DUPLICATE KEY UPDATE acquired_at = acquired_at;
        SELECT h.fence, h.held_until INTO v_own, v_until FROM {semaphore_holder} AS h WHERE h.name = p_name AND h.owner = p_owner FOR UPDATE;
        IF v_own IS NOT NULL THEN
            SET v_held = v_held - 1;
        END IF;
        IF v_until > v_now OR v_held < v_slots THEN
            SET v_granted = 1, v_fence = NEXTVAL({lease_fence}), v_until = v_now + p_lease, v_held = v_held + 1;
            UPDATE {semaphore_holder} SET fence = v_fence, held_until = v_until, acquired_at = v_now WHERE name = p_name AND owner = p_owner;
        ELSE
            DELETE FROM {semaphore_holder} WHERE name = p_name AND owner = p_owner;
            SELECT COALESCE(MIN(h.held_until), 0) INTO v_until FROM {semaphore_holder} AS h WHERE h.name = p_name;
        END IF;
        IF v_held <> v_before THEN
            UPDATE {semaphore} SET held = v_held WHERE name = p_name;
        END IF;
    END IF;
{call_end}
    SELECT v_granted, CASE WHEN v_granted THEN p_owner END, v_fence, v_until, v_now, v_slots, v_held
    FROM DUAL WHERE v_slots IS NOT NULL;
END

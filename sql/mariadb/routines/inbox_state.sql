-- inbox_state: the state of a message; locked: as it is now, even if this transaction sees it as it was before.
-- 0 ready, 1 in progress, 2 done, 3 dead, 5 only seen, 6 marked by the app. Its row is held: only workers change it now.
CREATE OR REPLACE PROCEDURE {inbox_state}(IN p_seq BIGINT, IN p_locked BOOL, OUT p_state BIGINT)
READS SQL DATA
BEGIN
    IF p_locked THEN
        SELECT MAX(CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 WHEN w.status = 4 THEN 0 ELSE w.status END) INTO p_state
        FROM {inbox_work} AS w WHERE w.seq = p_seq
        LOCK IN SHARE MODE;
        IF p_state IS NULL THEN
            SELECT COALESCE(MAX(f.status), 5) INTO p_state
            FROM {inbox_finished} AS f WHERE f.seq = p_seq
            LOCK IN SHARE MODE;
        END IF;
    ELSE
        SELECT COALESCE(
            (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = p_seq),
            (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 WHEN w.status = 4 THEN 0 ELSE w.status END
             FROM {inbox_work} AS w WHERE w.seq = p_seq),
            5) INTO p_state;
    END IF;
END

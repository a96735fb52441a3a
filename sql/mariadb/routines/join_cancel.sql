-- join_cancel: end a join as cancelled; its status then, or no row.
CREATE OR REPLACE PROCEDURE {join_cancel}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_seq BIGINT;
    DECLARE v_status BIGINT;
    DECLARE v_cancelled BOOL DEFAULT FALSE;
{call_begin}
    -- Its entry in the index of ids is shared with those that attach. It is locked at all, lest an older view of the app's transaction lacks the join.
    SELECT j.seq INTO v_seq FROM {join} AS j WHERE j.id = UNHEX(REPLACE(p_id, '-', '')) LOCK IN SHARE MODE;
    SELECT j.status INTO v_status FROM {join} AS j FORCE INDEX (PRIMARY) WHERE j.seq = v_seq FOR UPDATE;
    IF v_status = 0 THEN
        SET v_status = 3, v_cancelled = TRUE;
        UPDATE {join} SET status = v_status, ended_at = v_now WHERE seq = v_seq;
        CALL {join_end}(CONCAT('[[', v_seq, ',', v_status, ']]'), v_now);
    END IF;
{call_end}
    SELECT v_status FROM DUAL WHERE v_cancelled;
END

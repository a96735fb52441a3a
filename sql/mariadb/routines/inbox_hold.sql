-- inbox_hold: the id, number and state of a message, to change it in this transaction.
CREATE OR REPLACE PROCEDURE {inbox_hold}(
    IN p_source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_message_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_consumer VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_before BIGINT;
    DECLARE v_seq BIGINT;
    DECLARE v_changes BIGINT;
    DECLARE v_state BIGINT;
{call_begin}
    -- As this transaction saw the message before: null where it did not.
    SELECT MAX(m.changes) INTO v_before
    FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer;
    SELECT MAX(m.seq), MAX(m.changes) INTO v_seq, v_changes
    FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer
    FOR UPDATE;
    UPDATE {inbox} AS m SET m.changes = m.changes + 1 WHERE m.seq = v_seq;
    IF v_seq IS NOT NULL THEN
        CALL {inbox_state}(v_seq, v_before IS NULL OR v_before <> v_changes, v_state);
    END IF;
    SELECT HEX(m.id), m.seq, v_state FROM {inbox} AS m WHERE m.seq = v_seq;
{call_end}
END

-- inbox_check: note that a message has arrived, as seen if it is new; its id, number, hash and, unless it is new, its state. Waits for a transaction that is storing the same message.
CREATE OR REPLACE PROCEDURE {inbox_check}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_message_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_consumer VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_hash VARCHAR(2048) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_hash_algorithm VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_before BIGINT;
    DECLARE v_id BINARY(16);
    DECLARE v_seq BIGINT;
    DECLARE v_changes BIGINT;
    DECLARE v_state BIGINT;
    DECLARE v_known BIGINT;
    DECLARE v_found BIGINT DEFAULT 0;
    DECLARE v_new BOOL DEFAULT FALSE;
{call_begin}
    -- As this transaction saw the message before: null where it did not.
    SELECT MAX(m.changes), MAX(m.seq) INTO v_before, v_known
    FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer;
    -- A row that is known is locked alone, by its primary key; by its unique one, what is beside it is locked, too: a new
    -- message there would wait.
    IF v_known IS NOT NULL THEN
        UPDATE {inbox} SET last_seen_at = v_now, changes = changes + 1,
            hash_algorithm = CASE WHEN hash IS NULL THEN p_hash_algorithm ELSE hash_algorithm END, hash = COALESCE(hash, p_hash)
        WHERE seq = v_known;
        SET v_found = ROW_COUNT();
    END IF;
    IF v_found = 0 THEN
        INSERT INTO {inbox} (id, source, message_id, consumer, hash, hash_algorithm, created_at, last_seen_at, due_at)
        VALUES (UNHEX(REPLACE(p_id, '-', '')), p_source, p_message_id, p_consumer, p_hash, p_hash_algorithm, v_now, v_now, v_now)
        ON DUPLICATE KEY UPDATE last_seen_at = v_now, changes = changes + 1,
            hash_algorithm = CASE WHEN hash IS NULL THEN p_hash_algorithm ELSE hash_algorithm END, hash = COALESCE(hash, p_hash);
        SET v_new = ROW_COUNT() = 1; -- 2: it was there, and was changed
    END IF;
    IF v_new THEN
        SELECT HEX(m.id), m.seq, m.hash, m.hash_algorithm, v_state
        FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer;
    ELSE
        SELECT m.id, m.seq, m.changes INTO v_id, v_seq, v_changes
        FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer;
        IF v_id <> UNHEX(REPLACE(p_id, '-', '')) THEN
            CALL {inbox_state}(v_seq, v_before IS NULL OR v_before <> v_changes - 1, v_state);
        END IF;
        SELECT HEX(m.id), m.seq, m.hash, m.hash_algorithm, v_state FROM {inbox} AS m WHERE m.seq = v_seq;
    END IF;
{call_end}
END

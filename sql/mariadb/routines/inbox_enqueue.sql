-- inbox_enqueue: store a message and its work row unless it is known; its id, number, hash and, unless it is new, its state. Waits for a transaction that is storing the same message.
CREATE OR REPLACE PROCEDURE {inbox_enqueue}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_source VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_message_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_consumer VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_correlation_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_ordering_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_hash VARCHAR(2048) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_hash_algorithm VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT,
    IN p_due_at BIGINT,
    IN p_delay BIGINT,
    IN p_expires_at BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_before BIGINT;
    DECLARE v_id BINARY(16);
    DECLARE v_seq BIGINT;
    DECLARE v_changes BIGINT;
    DECLARE v_state BIGINT;
{call_begin}
    -- As this transaction saw the message before: null where it did not.
    SELECT MAX(m.changes) INTO v_before
    FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer;
    INSERT INTO {inbox} (id, source, message_id, consumer, topic, payload, headers, correlation_id, ordering_key,
                         hash, hash_algorithm, created_at, last_seen_at, due_at, expires_at, worked)
    VALUES (UNHEX(REPLACE(p_id, '-', '')), p_source, p_message_id, p_consumer, p_topic, p_payload, p_headers, p_correlation_id, p_ordering_key,
            p_hash, p_hash_algorithm, v_now, v_now, COALESCE(p_due_at, v_now + p_delay), p_expires_at, 1)
    ON DUPLICATE KEY UPDATE last_seen_at = v_now, changes = changes + 1;
    SELECT m.id, m.seq, m.changes INTO v_id, v_seq, v_changes
    FROM {inbox} AS m WHERE m.source = p_source AND m.message_id = p_message_id AND m.consumer = p_consumer;
    IF v_id <> UNHEX(REPLACE(p_id, '-', '')) THEN
        CALL {inbox_state}(v_seq, v_before IS NULL OR v_before <> v_changes - 1, v_state);
    END IF;
    IF v_changes = 0 THEN
        INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, expires_at)
        VALUES (v_seq, p_topic, CASE WHEN p_ordering_key IS NULL THEN 0 ELSE 4 END, COALESCE(p_due_at, v_now + p_delay), 0, 0,
                p_ordering_key, p_expires_at);
    END IF;
    SELECT HEX(m.id), m.seq, m.hash, m.hash_algorithm, v_state FROM {inbox} AS m WHERE m.seq = v_seq;
{call_end}
END

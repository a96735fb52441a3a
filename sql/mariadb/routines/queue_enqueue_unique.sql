-- queue_enqueue_unique: store one message unless an unfinished one has its unique key; its id, if it was. Waits for a transaction that is storing the same key.
CREATE OR REPLACE PROCEDURE {queue_enqueue_unique}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_correlation_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_ordering_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_unique_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT,
    IN p_due_at BIGINT,
    IN p_delay BIGINT,
    IN p_expires_at BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_taken BOOL DEFAULT FALSE;
{call_begin}
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1062 SET v_taken = TRUE;
        INSERT INTO {queue} (id, topic, payload, headers, correlation_id, ordering_key, unique_key, created_at, due_at, expires_at)
        VALUES (UNHEX(REPLACE(p_id, '-', '')), p_topic, p_payload, p_headers, p_correlation_id, p_ordering_key, p_unique_key, v_now,
                COALESCE(p_due_at, v_now + p_delay), p_expires_at);
    END;
{call_end}
    SELECT p_id FROM DUAL WHERE NOT v_taken;
END

-- join_start: start a join, with what is to be enqueued at its end in the JSON array :messages.
CREATE OR REPLACE PROCEDURE {join_start}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_number BIGINT,
    IN p_status BIGINT,
    IN p_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT,
    IN p_expires_at BIGINT,
    IN p_delay BIGINT,
    IN p_messages LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_seq BIGINT DEFAULT NEXTVAL({join_seq});
{call_begin}
    INSERT INTO {join} (seq, id, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at)
    VALUES (v_seq, UNHEX(REPLACE(p_id, '-', '')), 0, p_number, 0, 0, p_status, p_name, p_payload, v_now, COALESCE(p_expires_at, v_now + p_delay));
    INSERT INTO {join_next} (join_seq, status, id, topic, payload, headers, correlation_id, ordering_key)
    SELECT v_seq, m.status, UNHEX(REPLACE(m.id, '-', '')), m.topic, m.payload, m.headers, m.correlation_id, m.ordering_key
    FROM JSON_TABLE(p_messages, '$[*]' COLUMNS (
        status BIGINT PATH '$.status', id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin PATH '$.id', topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$.topic', payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$.payload',
        headers LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$.headers', correlation_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$.correlation_id', ordering_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$.ordering_key')) AS m;
{call_end}
END

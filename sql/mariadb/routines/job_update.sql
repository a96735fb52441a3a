-- job_update: the definition and state of the job :number, if it is still of this version.
CREATE OR REPLACE PROCEDURE {job_update}(
    IN p_number BIGINT,
    IN p_version BIGINT,
    IN p_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_expression LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_zone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_options LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_registrar VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_count BIGINT,
    IN p_status BIGINT,
    IN p_due_at BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_seq BIGINT;
{call_begin}
    SELECT MAX(j.seq) INTO v_seq FROM {job} AS j WHERE j.seq = p_number AND j.version = p_version FOR UPDATE;
    UPDATE {job} AS j
    SET j.topic = p_topic, j.payload = p_payload, j.expression = p_expression, j.zone = p_zone, j.options = p_options,
        j.registrar = p_registrar, j.absent = p_count, j.disabled = p_status, j.version = j.version + 1, j.next_due_at = p_due_at
    WHERE j.seq = v_seq;
{call_end}
    SELECT v_seq FROM DUAL WHERE v_seq IS NOT NULL;
END

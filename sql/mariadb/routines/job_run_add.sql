-- job_run_add: a run of the job :number for the occurrence :occurrence (null: now, by hand), unless it has one. None for a job that arrives from another store. The job cannot be deleted meanwhile: its place in an index is held, which nobody else wants. status 1: skipped; 2: skipped if another one with its ordering key is unfinished; 3: or if :batch are.
CREATE OR REPLACE PROCEDURE {job_run_add}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_number BIGINT,
    IN p_ordering_key VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_occurrence BIGINT,
    IN p_status BIGINT,
    IN p_batch BIGINT,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_job_id BINARY(16);
    DECLARE v_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_payload LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_options LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_others BIGINT DEFAULT 0;
    DECLARE v_enough BIGINT DEFAULT CASE p_status WHEN 1 THEN 0 WHEN 2 THEN 1 WHEN 3 THEN p_batch END;
    DECLARE v_skipped LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_made BOOL DEFAULT FALSE;
{call_begin}
    SELECT MAX(j.id) INTO v_job_id FROM {job} AS j FORCE INDEX (id)
    WHERE j.id = (SELECT s.id FROM {job} AS s WHERE s.seq = p_number)
    LOCK IN SHARE MODE;
    SELECT j.id, j.name, j.topic, j.payload, j.options INTO v_job_id, v_name, v_topic, v_payload, v_options
    FROM (SELECT 1 AS one) AS o LEFT JOIN {job} AS j ON j.seq = p_number AND j.id = v_job_id
        AND NOT EXISTS (SELECT 1 FROM {copy_job} AS c WHERE c.job = j.seq AND c.id = j.id AND c.version = j.version AND c.arrived = 1);
    IF v_enough > 0 THEN
        SELECT COUNT(*) INTO v_others
        FROM (SELECT w.seq FROM {job_run_work} AS w WHERE w.ordering_key = p_ordering_key LIMIT v_enough) AS q;
    END IF;
    IF v_others >= v_enough THEN
        SET v_skipped = p_reason;
    END IF;
    IF v_job_id IS NOT NULL THEN
        BEGIN
            DECLARE CONTINUE HANDLER FOR 1062 SET v_made = FALSE;
            SET v_made = TRUE;
            INSERT INTO {job_run} (id, topic, payload, ordering_key, created_at, due_at, job_id, job_name, occurrence_at, options, skipped)
            VALUES (UNHEX(REPLACE(p_id, '-', '')), v_topic, v_payload, p_ordering_key, v_now, COALESCE(p_occurrence, v_now),
                    v_job_id, v_name, p_occurrence, v_options, v_skipped);
        END;
    END IF;
{call_end}
    SELECT CASE WHEN v_skipped IS NULL THEN 1 ELSE 0 END FROM DUAL WHERE v_made;
END

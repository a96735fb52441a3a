-- inbox_mark: the app processes the message :number itself.
CREATE OR REPLACE PROCEDURE {inbox_mark}(
    IN p_number BIGINT,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
{call_begin}
    UPDATE {inbox} AS m SET m.worked = 1 WHERE m.seq = p_number;
    INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number) VALUES (p_number, '', 1, v_now, 0, 0);
{call_end}
END

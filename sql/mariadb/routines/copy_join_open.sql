-- copy_join_open: the joins that came from the store :owner are joins here. In the transaction of a move.
CREATE OR REPLACE PROCEDURE {copy_join_open}(
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin)
MODIFIES SQL DATA
BEGIN
    INSERT INTO {join} (seq, id, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at, ended_at, reason)
    SELECT NEXTVAL({join_seq}), c.id, c.status, c.expected, c.completed, c.failed, c.fail_if_any, c.grouping_key, c.metadata, c.created_at, c.deadline_at, c.ended_at, c.reason
    FROM {copy_join} AS c
    WHERE c.peer = UNHEX(REPLACE(p_owner, '-', '')) AND c.arrived = 1;
END

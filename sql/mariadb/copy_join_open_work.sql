-- copy_join_open_work: the members' work tells their joins.
UPDATE (SELECT k.seq, GROUP_CONCAT(k.join_seq ORDER BY k.join_seq) AS joins
        FROM {copy_join} AS c STRAIGHT_JOIN {join} AS j FORCE INDEX (id) ON j.id = c.id STRAIGHT_JOIN {join_member} AS k FORCE INDEX (PRIMARY) ON k.join_seq = j.seq
        WHERE c.peer = UNHEX(REPLACE(:owner, '-', '')) AND c.arrived = 1 AND k.status = 0
        GROUP BY k.seq) AS t STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = t.seq
SET w.joins = CONCAT_WS(',', w.joins, t.joins)

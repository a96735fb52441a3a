-- join_reap_probe: whether a join is past its deadline.
EXEC {Join_ReapProbe} @Now = :now

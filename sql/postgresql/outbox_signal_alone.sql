-- outbox_signal_alone: the same in a transaction of its own. The lock that the server has for signals is held
-- until their transaction is committed: there is nothing in it that has to be on disk before.
SELECT 1 FROM (SELECT set_config('synchronous_commit', 'off', true), pg_notify(CAST(:name AS text), '')) AS s

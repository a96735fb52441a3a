-- semaphore_acquire: give a slot of :name to :owner for :lease us, if one is free or the owner's already;
-- else tell when the first holder is over. Takes back the slots whose time has passed. No row: there is no
-- such semaphore.
SELECT t.granted, t.holder, t.token, t.until_us, t.now_us, t.places, t.taken
FROM {semaphore_take}(CAST(:name AS text), CAST(:owner AS text), CAST(:lease AS bigint), CAST(:now AS bigint)) AS t

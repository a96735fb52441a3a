-- 0012_lease_length: how long a lease was asked for, so that an end can be told that a clock set which was ahead.

ALTER TABLE {lease} ADD COLUMN length INTEGER CHECK (typeof(length) IN ('integer', 'null'));
ALTER TABLE {semaphore_holder} ADD COLUMN length INTEGER CHECK (typeof(length) IN ('integer', 'null'));

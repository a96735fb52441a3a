-- 0003_lease: leases, and semaphores with their holders.
-- Times are microseconds UTC since 1970. Names compare byte for byte (collation "C").

-- A sequence gives no number twice, whatever becomes of rows and transactions.
CREATE SEQUENCE {lease_fence};

-- One row a name, also when nobody holds it. No index has what a renewal changes (HOT updates).
CREATE TABLE {lease} (
    name text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C",
    fence bigint NOT NULL,
    held_until bigint NOT NULL,
    acquired_at bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX {name:lease_by_fence} ON {lease} (fence);

-- held counts the rows of the semaphore's holders, expired ones too; every statement that adds or
-- deletes one moves it. granted is whom the last acquire was granted to; null: it was refused.
CREATE TABLE {semaphore} (
    name text COLLATE "C" PRIMARY KEY,
    slots bigint NOT NULL,
    held bigint NOT NULL,
    granted text COLLATE "C"
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE {semaphore_holder} (
    fence bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    held_until bigint NOT NULL,
    acquired_at bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000,
        autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX {name:semaphore_holder_owner} ON {semaphore_holder} (name, owner);

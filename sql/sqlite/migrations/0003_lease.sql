-- 0003_lease: leases, and semaphores with their holders.

-- One row a name, also when nobody holds it. The fence is the row's key: SQLite never gives an
-- AUTOINCREMENT key twice, not even after its row was deleted.
CREATE TABLE {lease} (
    fence INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE CHECK (typeof(name) = 'text'),
    owner TEXT CHECK (typeof(owner) IN ('text', 'null')),
    held_until INTEGER NOT NULL CHECK (typeof(held_until) = 'integer'),
    acquired_at INTEGER NOT NULL CHECK (typeof(acquired_at) = 'integer')
);

CREATE TABLE {semaphore} (
    name TEXT NOT NULL PRIMARY KEY CHECK (typeof(name) = 'text'),
    slots INTEGER NOT NULL CHECK (typeof(slots) = 'integer')
);

-- One row a holder. An acquire deletes those that have expired before it counts the rest.
CREATE TABLE {semaphore_holder} (
    fence INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL CHECK (typeof(name) = 'text'),
    owner TEXT NOT NULL CHECK (typeof(owner) = 'text'),
    held_until INTEGER NOT NULL CHECK (typeof(held_until) = 'integer'),
    acquired_at INTEGER NOT NULL CHECK (typeof(acquired_at) = 'integer'),
    UNIQUE (name, owner)
);

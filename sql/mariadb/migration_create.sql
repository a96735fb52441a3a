-- migration_create: the journal of migrations.
CREATE TABLE IF NOT EXISTS {migration} (number BIGINT PRIMARY KEY, name VARCHAR(255) NOT NULL, applied_at BIGINT NOT NULL)
ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin

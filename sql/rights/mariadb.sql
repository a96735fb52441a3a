-- The GRANTs for a user whose workers run, one a line, and no more than it needs. They are to be printed in the store's database,
-- by whoever deployed, after each deployment: that makes the procedures anew.
--
--   mariadb --init-command="SET @waypost_schema = 'infra', @waypost_user = 'worker@\'%\''" -N shop < sql/rights/mariadb.sql | mariadb shop

SELECT CONCAT('GRANT SELECT', CASE WHEN t.table_type = 'BASE TABLE' AND t.table_name <> CONCAT(@waypost_schema, '_migration')
                                   THEN ', INSERT, UPDATE, DELETE' ELSE '' END,
              ' ON `', REPLACE(t.table_schema, '`', '``'), '`.`', REPLACE(t.table_name, '`', '``'), '` TO ', @waypost_user, ';')
FROM information_schema.tables AS t
WHERE t.table_schema = DATABASE() AND t.table_type <> 'SEQUENCE'
  AND BINARY LEFT(t.table_name, CHAR_LENGTH(@waypost_schema) + 1) = BINARY CONCAT(@waypost_schema, '_')
UNION ALL
SELECT CONCAT('GRANT EXECUTE ON PROCEDURE `', REPLACE(r.routine_schema, '`', '``'), '`.`', REPLACE(r.routine_name, '`', '``'), '` TO ',
              @waypost_user, ';')
FROM information_schema.routines AS r
WHERE r.routine_schema = DATABASE() AND r.routine_type = 'PROCEDURE'
  AND BINARY LEFT(r.routine_name, CHAR_LENGTH(@waypost_schema) + 1) = BINARY CONCAT(@waypost_schema, '_');

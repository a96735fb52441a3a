-- The rights of a role whose workers run, and no more than it needs. To be run in the store's database by whoever deployed,
-- after each deployment:
--
--   psql shop -v ON_ERROR_STOP=1 -v schema=infra -v role=worker -f sql/rights/postgresql.sql

GRANT USAGE ON SCHEMA :"schema" TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA :"schema" TO :"role";
REVOKE INSERT, UPDATE, DELETE ON :"schema".migration FROM :"role";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA :"schema" TO :"role";

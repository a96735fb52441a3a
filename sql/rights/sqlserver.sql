-- The rights of a user or role whose workers run, and no more than it needs: to call the procedures, which reach the tables by
-- ownership. To be run in the store's database by whoever deployed, once; a later deployment keeps them:
--
--   sqlcmd -S db -d shop -v schema=infra -v role=worker -i sql/rights/sqlserver.sql

GRANT EXECUTE ON SCHEMA::[$(schema)] TO [$(role)];

-- 0010_routines: the procedures, which are made anew with each migration, leave no transaction open where a call is cut off, and workers clean up pauses. No table changes.
DECLARE @nothing INT;

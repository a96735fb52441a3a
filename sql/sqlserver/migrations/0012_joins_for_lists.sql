-- 0012_joins_for_lists: the procedures, which are made anew with each migration, claim and delete the rows of a list by a join with it. No table changes.
DECLARE @nothing INT;

-- migration_exists: whether there is a table of this name: its procedures tell one who may not look at tables.
SELECT COUNT(*)
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id
CROSS JOIN (SELECT CAST(:schema AS NVARCHAR(128)) AS schema_name, CAST(:name AS NVARCHAR(128)) AS table_name) AS n
WHERE s.name = n.schema_name AND ((o.type = 'U' AND o.name = n.table_name) OR (o.type = 'P' AND o.name IN (n.table_name + N'_Claim', n.table_name + N'_List')))

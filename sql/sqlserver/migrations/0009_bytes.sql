-- 0009_bytes: how many bytes a text has in UTF-8. Servers before 2019 do not know it, and tell how many units they store.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
-- The collation goes along with the text into the VARCHAR, and says in what it is written there. DATALENGTH(N'x') is 2.
IF COLLATIONPROPERTY('Latin1_General_100_CI_AS_SC_UTF8', 'CodePage') = 65001
    EXEC (N{body}CREATE FUNCTION {BytesOf}(@text NVARCHAR(MAX)) RETURNS BIGINT AS BEGIN RETURN DATALENGTH(CAST(@text COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS VARCHAR(MAX))); END{end});
ELSE
    EXEC (N{body}CREATE FUNCTION {BytesOf}(@text NVARCHAR(MAX)) RETURNS BIGINT AS BEGIN RETURN DATALENGTH(@text) / DATALENGTH(N'x'); END{end});

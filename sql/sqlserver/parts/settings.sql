-- settings: what a session may have set otherwise, until the procedure ends. Indexes with filters need the five.
    SET NOCOUNT ON;
    SET ANSI_PADDING ON;
    SET ANSI_WARNINGS ON;
    SET ARITHABORT ON;
    SET CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET XACT_ABORT OFF;
    SET TEXTSIZE 2147483647;
    SET ROWCOUNT 0;

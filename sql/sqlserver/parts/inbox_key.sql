-- inbox_key: @widths, which tells apart what SQL Server compares as equal: keys that end in blanks.
    DECLARE @widths INT = DATALENGTH(@Source) / 2 * 65536 + DATALENGTH(@MessageId) / 2 * 256 + DATALENGTH(@Consumer) / 2;

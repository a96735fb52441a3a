-- pause_clean: up to @BatchSize rows of changes go behind which another one is committed; a row for each. Rows that others have locked stay, and nobody is waited for.
EXEC {PausedTopic_Clean} @BatchSize = :batch

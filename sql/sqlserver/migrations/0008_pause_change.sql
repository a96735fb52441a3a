-- 0008_pause_change: a pause and its end are each a row of their own. One that was changed in place told, while its change was not committed, what its last writer said, and not what held.
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
ALTER TABLE {PausedTopic} DROP CONSTRAINT {name:PausedTopic_Named};
GO
-- The row with a topic's highest number tells whether it is paused: see PausedTopic_List.
ALTER TABLE {PausedTopic} ADD ChangeNumber INT NOT NULL CONSTRAINT {name:PausedTopic_First} DEFAULT (0);
GO
ALTER TABLE {PausedTopic} ADD CONSTRAINT {name:PausedTopic_Numbered} PRIMARY KEY CLUSTERED (Queue, TopicKey, ChangeNumber);

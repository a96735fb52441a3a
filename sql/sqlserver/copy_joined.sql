-- copy_joined: what stays since it belongs to joins that are not over: messages that are not with a worker, and the joins. Messages of the topic @Topic wait for one.
EXEC {CopyItem_Joined} @Topic = :topic

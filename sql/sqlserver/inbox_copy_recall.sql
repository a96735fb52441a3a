-- inbox_copy_recall: those of @Seqs again, as inbox_copy_memory gives them.
EXEC {inbox_CopyRecall} @Seqs = :seqs

"""What users receive: memories, hits, reports, receipts."""

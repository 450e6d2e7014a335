import '../long/api/long-reads.test.ts'

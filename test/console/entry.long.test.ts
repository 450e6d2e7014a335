import '../long/console/entry.test.ts'

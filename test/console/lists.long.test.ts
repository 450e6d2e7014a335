import '../long/console/lists.test.ts'

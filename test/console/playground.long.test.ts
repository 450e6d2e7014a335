import '../long/console/playground.test.ts'

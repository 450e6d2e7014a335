import '../long/console/operator-log.test.ts'

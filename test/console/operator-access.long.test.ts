import '../long/console/operator-access.test.ts'

import '../long/console/operator.test.ts'

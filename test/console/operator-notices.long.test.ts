import '../long/console/operator-notices.test.ts'

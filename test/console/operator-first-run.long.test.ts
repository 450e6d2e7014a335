import '../long/console/operator-first-run.test.ts'

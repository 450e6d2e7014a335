import '../long/api/flapping.test.ts'

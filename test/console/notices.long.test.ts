import '../long/console/notices.test.ts'

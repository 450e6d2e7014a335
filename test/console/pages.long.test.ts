import '../long/console/pages.test.ts'

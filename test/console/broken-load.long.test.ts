import '../long/console/broken-load.test.ts'

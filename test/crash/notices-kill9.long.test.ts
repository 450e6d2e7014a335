import '../long/crash/notices-kill9.test.ts'

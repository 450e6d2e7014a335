import '../long/crash/responses-kill9.test.ts'

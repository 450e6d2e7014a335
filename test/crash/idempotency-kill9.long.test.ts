import '../long/crash/idempotency-kill9.test.ts'

import './idempotency-kill9.test.ts'

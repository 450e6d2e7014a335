import '../long/console/account-limit.test.ts'

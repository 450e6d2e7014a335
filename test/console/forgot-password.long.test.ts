import '../long/console/forgot-password.test.ts'

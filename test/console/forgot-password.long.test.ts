import './forgot-password.test.ts'

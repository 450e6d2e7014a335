import './notices.test.ts'

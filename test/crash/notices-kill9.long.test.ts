import './notices-kill9.test.ts'

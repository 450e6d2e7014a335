import './sign-in-timing.test.ts'

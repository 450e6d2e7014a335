import '../clock/sign-in-timing.test.ts'

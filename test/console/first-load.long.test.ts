import '../clock/first-load.test.ts'

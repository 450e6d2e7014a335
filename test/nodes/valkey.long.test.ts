import '../clock/valkey.test.ts'

import '../clock/clients.test.ts'

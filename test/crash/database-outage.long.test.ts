import '../clock/database-outage.test.ts'

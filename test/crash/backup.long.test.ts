import '../long/crash/backup.test.ts'

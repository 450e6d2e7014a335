import '../long/crash/upgrade.test.ts'

import '../long/console/dialogs.test.ts'

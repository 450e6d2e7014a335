import './dialogs.test.ts'

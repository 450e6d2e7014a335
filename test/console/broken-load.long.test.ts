import './broken-load.test.ts'

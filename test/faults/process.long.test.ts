import '../long/faults/process.test.ts'

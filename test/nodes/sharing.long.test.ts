import '../long/nodes/sharing.test.ts'

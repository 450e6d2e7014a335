import '../long/crash/nodes.test.ts'

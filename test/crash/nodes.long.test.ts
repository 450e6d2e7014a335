import './nodes.test.ts'

import './long-reads.test.ts'

import '../long/soak/soak.test.ts'
